"""Agents and the keyboard as ROS nodes."""
