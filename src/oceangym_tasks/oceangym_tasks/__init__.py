"""Tasks: the state machine of an episode, scoring and recording."""
