"""Benchmark files and the runs that they stand for."""
