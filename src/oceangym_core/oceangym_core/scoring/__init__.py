"""Scorers as pure functions of a recorded episode."""

from oceangym_core.scoring.rescore import main, rescore, tables
from oceangym_core.scoring.score import score_episode, score_with, SCORERS

__all__ = ['SCORERS', 'main', 'rescore', 'score_episode', 'score_with', 'tables']
