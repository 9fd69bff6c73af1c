"""What a run is given: options, tasks, waters, sonars, starts."""
