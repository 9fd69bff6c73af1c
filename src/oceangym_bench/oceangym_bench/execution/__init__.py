"""Execution of runs: in process, in workers, on a cluster."""
