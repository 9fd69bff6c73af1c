"""A model server that stands in for real ones, in tests and for ``agent:=scripted``."""
