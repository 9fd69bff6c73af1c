"""Bring-up of OceanGym: what runs, who starts it, and the command line."""
