"""A Gazebo session of its own, beside the nodes."""
