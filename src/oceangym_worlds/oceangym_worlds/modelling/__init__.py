"""Modelling of props: primitives, shells, noise, textures, mesh files."""
