"""Aids for a model: detector, search hints, sonar in words."""
