"""The contract between vehicle, agent and task manager: actions, frames, observations, topics."""
