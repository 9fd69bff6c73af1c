"""Episode records: schema, writing, reading, provenance."""
