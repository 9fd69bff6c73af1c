"""ROS nodes beside Gazebo."""
