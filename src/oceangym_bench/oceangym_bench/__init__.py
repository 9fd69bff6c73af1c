"""Episodes in one process, run matrices and reports."""
