"""The task manager and the recorder as ROS nodes."""
