"""The seabed: relief, mesh, textures, SDF model."""
