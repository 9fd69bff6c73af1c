"""A MAVLink vehicle in the terms of the OceanGym contract."""
