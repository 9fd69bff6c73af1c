"""ROS-free foundation: geometry, worlds, tasks, episode records and scoring."""
