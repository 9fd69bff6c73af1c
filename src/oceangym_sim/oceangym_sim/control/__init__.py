"""Autopilot, thrust allocation and maneuvers."""
