"""The embedded simulator as a ROS node."""
