"""Vehicle dynamics: rigid body, thrusters, contact, water column."""
