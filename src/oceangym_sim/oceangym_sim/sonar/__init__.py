"""Sonar pings: sound, beams, formation, instruments."""
