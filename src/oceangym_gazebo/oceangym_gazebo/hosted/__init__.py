"""A Gazebo server in the process of the backend."""
