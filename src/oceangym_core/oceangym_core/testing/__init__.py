"""Builders of small episodes for the tests of every package."""
