"""From a model's raw reply to one command."""
