"""The command line of the benchmark."""
