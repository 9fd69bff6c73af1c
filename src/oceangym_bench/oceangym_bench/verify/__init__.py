"""Verification of submitted runs."""
