"""Generates terrain, props, textures and SDF worlds from config/worlds/*.yaml."""
