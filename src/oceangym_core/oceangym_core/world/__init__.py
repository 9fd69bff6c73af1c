"""Worlds: SDF files, placed models, footprints and distances."""
