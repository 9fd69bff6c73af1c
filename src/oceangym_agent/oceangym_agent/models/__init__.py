"""Clients of multimodal language models behind OpenAI-compatible endpoints."""
