"""Made-up steps on which every template is rendered once before a dive."""

from __future__ import annotations

import math

import numpy as np

from oceangym_agent.agent import GoalView, StatusView
from oceangym_agent.memory.coverage import CoverageMap
from oceangym_agent.memory.window import Memory
from oceangym_agent.prompts.step_view import Outcome, PromptSettings, StepView
from oceangym_core.contract.actions import Action, DIRECTIONS
from oceangym_core.contract.observation import NavigationState, Observation
from oceangym_core.geometry import Pose


def rehearsal_views(goal: GoalView, settings: PromptSettings) -> tuple[StepView, ...]:
    """Return the first step of a dive and one that follows a maneuver, amid the area in the dark."""
    bounds = np.asarray(goal.bounds)
    x, y = (float(v) for v in bounds.mean(axis=0))
    z = min(goal.z_min / 2 + goal.z_max / 2, -1.0)
    navigation = NavigationState(
        stamp=0.0,
        pose=Pose((x, y, z)),
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.0, 0.0, 0.0),
        depth=-z,
        altitude=math.inf,
        battery=1.0,
    )
    cameras = {d: np.zeros((32, 32, 3), np.uint8) for d in DIRECTIONS}
    coverage = CoverageMap(goal.bounds) if settings.needs_coverage else None
    flown = Outcome(action=Action.FORWARD, requested=20.0, applied=20.0, saturated=False)
    return tuple(
        StepView(
            index=index,
            observation=Observation(
                index=index, stamp=0.0, navigation=navigation, cameras=cameras
            ),
            status=StatusView(elapsed=0.0, remaining=goal.t_max),
            memory=Memory(),
            coverage=coverage,
            outcome=outcome,
        )
        for index, outcome in enumerate((None, flown))
    )
