"""Gazebo output in the terms of the OceanGym contract."""
