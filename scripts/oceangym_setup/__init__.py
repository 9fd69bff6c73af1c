"""Set-up and entry point of the workspace; needs nothing but the standard library."""
