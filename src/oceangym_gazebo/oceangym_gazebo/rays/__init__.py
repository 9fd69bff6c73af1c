"""Sensor images from what Gazebo renders."""
