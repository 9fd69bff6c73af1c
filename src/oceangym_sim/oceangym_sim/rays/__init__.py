"""Ray tracing: device, scene and textures."""
