"""Scripted models behind an HTTP server: ``agent:=scripted``, and the model of tests."""
