import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_agent.agents.planner import PathPlanner
from oceangym_agent.steering import steer
from oceangym_core.contract.actions import Action
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world

# A wall 100 m wide and 40 m tall, from the floor at -45 to 5 m below the surface, across the way.
WORLD = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><world name="tank">
<oceangym:bounds><min>-150 -150 -50</min><max>150 150 5</max></oceangym:bounds>
<include><uri>model://floor</uri><name>floor</name></include>
<include><uri>model://wall</uri><name>wall</name><pose>0 0 -25 0 0 0</pose></include>
</world></sdf>"""
FLOOR = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><model name="floor">
<oceangym:heightfield><uri>model://floor/h.npy</uri><origin>-200 -200</origin><spacing>100</spacing>
</oceangym:heightfield><link name="l"/></model></sdf>"""
WALL = """<sdf version="1.11"><model name="wall"><link name="l"><collision name="c"><geometry>
<box><size>4 100 40</size></box></geometry></collision></link></model></sdf>"""


@pytest.fixture
def planner(tmp_path: Path) -> PathPlanner:
    for name, text in (('floor', FLOOR), ('wall', WALL)):
        (tmp_path / 'models' / name).mkdir(parents=True)
        (tmp_path / 'models' / name / 'model.sdf').write_text(text)
    np.save(tmp_path / 'models' / 'floor' / 'h.npy', np.full((5, 5), -45.0, np.float32))
    (tmp_path / 'tank.sdf').write_text(WORLD)
    return PathPlanner(load_world(tmp_path / 'tank.sdf'))


def test_free_water_is_crossed_in_a_straight_line(planner: PathPlanner) -> None:
    path = planner.plan(np.array([-80.0, 90.0, -20.0]), np.array([80.0, 90.0, -20.0]))
    assert len(path) == 1 and path[0] == pytest.approx([80.0, 90.0, -20.0])


def test_a_wall_is_gone_around_with_clearance(planner: PathPlanner) -> None:
    start, goal = np.array([-40.0, 0.0, -30.0]), np.array([40.0, 0.0, -30.0])
    path = [start, *planner.plan(start, goal)]
    assert path[-1] == pytest.approx(goal)
    for a, b in itertools.pairwise(path):
        leg = b - a
        # Legs are vertical or horizontal, as maneuvers are.
        assert abs(leg[2]) < 1e-6 or math.hypot(leg[0], leg[1]) < 1e-6
        assert planner.line_clearance(a, b) > 4.0
    length = sum(np.linalg.norm(b - a) for a, b in itertools.pairwise(path))
    # Around the wall's end 55 m aside: at least twice the hypotenuse of 40 and 50, at most half more.
    assert 2 * math.hypot(40, 50) <= length < 3 * math.hypot(40, 50)


def test_no_way_into_solid_ground(planner: PathPlanner) -> None:
    assert planner.plan(np.array([-40.0, 0.0, -30.0]), np.array([0.0, 0.0, -25.0])) == []


@pytest.mark.parametrize(
    ('waypoint', 'expected'),
    [
        ((0.0, 0.0, -5.0), (Action.UP, 5.0)),
        ((0.0, 0.0, -40.0), (Action.DOWN, 20.0)),
        ((30.0, 0.0, -10.0), (Action.FORWARD, 20.0)),
        ((0.0, 10.0, -10.0), (Action.ROTATE_LEFT, 90.0)),
        ((0.0, -10.0, -10.0), (Action.ROTATE_RIGHT, 90.0)),
        ((0.5, 0.5, -10.5), None),
    ],
)
def test_steering_rises_then_turns_then_goes(
    waypoint: tuple[float, float, float], expected: tuple[Action, float] | None
) -> None:
    pose = Pose.from_euler((0, 0, -10), 0, 0, 0)
    move = steer(pose, waypoint, tolerance=1.0, reach=20.0)
    if expected is None:
        assert move is None
    else:
        assert move is not None and move[0] is expected[0]
        assert move[1] == pytest.approx(expected[1])
