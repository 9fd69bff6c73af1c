"""Procedural props: each module has `build(*, seed, ...)`."""
