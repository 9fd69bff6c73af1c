"""What speaks ROS in the bring-up: the process specifications in launch's words."""
