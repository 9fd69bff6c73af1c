"""Memory of an agent: the window of last steps, important finds, experience of earlier runs."""

from oceangym_agent.memory.coverage import CoverageMap
from oceangym_agent.memory.experience import Experience, load_experience
from oceangym_agent.memory.window import ImportantEntry, Kind, Memory, MemoryStep

__all__ = [
    'CoverageMap',
    'Experience',
    'ImportantEntry',
    'Kind',
    'Memory',
    'MemoryStep',
    'load_experience',
]
