"""The plan of a world: description, sites, pipeline route, scattered objects."""
