"""Agents: what decides on each observation, ROS-free."""
