"""The embedded simulator: vehicle dynamics, navigation, autopilot and sensors, without ROS."""
