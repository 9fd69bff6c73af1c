"""Camera images: water, light, snow, lens and sensor."""
