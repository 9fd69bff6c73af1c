"""Bring-up of OceanGym: process specifications, launchers and the command line."""
