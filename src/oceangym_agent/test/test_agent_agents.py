"""The agents without a model: what they do, and what they must not do."""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
import pytest

from oceangym_agent.agent import GoalView, StatusView
from oceangym_agent.agents import AGENTS, AgentSettings, make_agent
from oceangym_agent.agents.scripted import BlindSpamAgent, IdleAgent, RandomAgent
from oceangym_agent.agents.search_pattern import ordered_waypoints
from oceangym_agent.agents.survey import SurveyAgent
from oceangym_agent.aids.detector import (
    bright_echoes,
    colour_anomaly,
    nearest_return,
    sonar_contacts,
)
from oceangym_core.config.mission import MissionOrder
from oceangym_core.config.options import AGENTS as OPTIONS_AGENTS
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action, ROTATIONS, sonar_orientation, TRANSLATIONS
from oceangym_core.contract.frames import bounds_polygon, FrameShift
from oceangym_core.contract.observation import NavigationState, Observation, SonarPing, SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose

GOAL = GoalView(
    task_id='dock',
    instruction='Find it.',
    target_label='PLATFORM',
    target_description='A platform.',
    reference_image=None,
    bounds=((-200.0, -400.0), (650.0, -400.0), (650.0, 250.0), (-200.0, 250.0)),
    z_min=-100.0,
    z_max=5.0,
    t_max=1800.0,
    t_interval=30.0,
    target_count=1,
)
STATUS = StatusView(elapsed=0.0, remaining=1800.0)
NOISE = 10 ** (-58 / 10)  # the sonars' noise floor over full scale
ECHO = 0.3


def observation(index: int = 0, *, altitude: float = 9.0, pose: Pose | None = None) -> Observation:
    navigation = NavigationState(
        stamp=30.0 * index,
        pose=pose if pose is not None else Pose((225.0, -75.0, -60.0)),
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.01, 0.01, 0.01),
        depth=60.0,
        altitude=altitude,
        battery=1.0,
    )
    return Observation(index=index, stamp=30.0 * index, navigation=navigation)


def sonar(direction: str = 'front') -> SonarSpec:
    return SonarSpec(direction=direction, mount=Pose.of((0, 0, 0), sonar_orientation(direction)))


def ping(
    spec: SonarSpec,
    *,
    ball: tuple[float, float, float] | None = None,
    wall: float | None = None,
) -> SonarPing:
    """Return a ping of noise, a ball (x forward, y port, radius [m]), a wall so far ahead [m]."""
    rng = np.random.default_rng(5)
    polar = NOISE * rng.standard_exponential((spec.range_bins, spec.beams))
    ranges = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
    forward = ranges[:, None] * np.cos(spec.azimuths)
    port = ranges[:, None] * np.sin(spec.azimuths)
    if ball is not None:
        x, y, radius = ball
        polar[np.hypot(forward - x, port - y) < radius] += ECHO
    if wall is not None:
        polar[np.abs(forward - wall) < 0.3] += ECHO
    fan = np.zeros((8, 8), np.uint8)
    return SonarPing(polar=polar.astype(np.float32), fan=fan)


def water(patch: float = 0.0) -> NDArray[np.uint8]:
    """Return a blue-green gradient, brighter above, with an orange square of this share in it."""
    size = 256
    shade = np.linspace(1.0, 0.35, size)[:, None, None] * np.ones((1, size, 1))
    image = shade * np.array([30.0, 110.0, 140.0])
    side = round(math.sqrt(patch) * size)
    low = (size - side) // 2
    image[low : low + side, low : low + side] = (220.0, 110.0, 30.0)
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 0.8), dtype=np.uint8)


# ------------------------------------------------------------------ agents that do not look


def test_idle_holds_and_reports_nothing() -> None:
    agent = IdleAgent()
    agent.begin(GOAL)
    turns = [agent.decide(observation(i), STATUS) for i in range(3)]
    assert {t.decision.action for t in turns} == {Action.HOLD}
    assert [t.decision.index for t in turns] == [0, 1, 2]
    assert not any(t.reports for t in turns)


def test_random_draws_every_move_and_only_the_seed_decides() -> None:
    runs = []
    for seed in (3, 3, 4):
        agent = RandomAgent(seed=seed)
        agent.begin(GOAL)
        runs.append([agent.decide(observation(i), STATUS).decision for i in range(200)])
    assert runs[0] == runs[1] != runs[2]
    assert {d.action for d in runs[0]} == TRANSLATIONS | ROTATIONS
    for decision in runs[0]:
        assert decision.magnitude is not None
        assert 0.0 <= decision.magnitude <= (180.0 if decision.action in ROTATIONS else 20.0)


def test_random_begins_anew_with_each_episode() -> None:
    agent = RandomAgent(seed=3)
    episodes = []
    for _ in range(2):
        agent.begin(GOAL)
        episodes.append([agent.decide(observation(i), STATUS).decision for i in range(10)])
    assert episodes[0] == episodes[1]


@pytest.mark.parametrize('turned', [0.0, 0.7])
def test_blind_spam_flies_its_rectangle_and_reports_at_every_step(turned: float) -> None:
    """Flown with perfect maneuvers: two laps of 2 (260 + 200) m around the middle of the bounds."""
    rotation = np.array(
        [[math.cos(turned), -math.sin(turned)], [math.sin(turned), math.cos(turned)]]
    )
    corners = np.asarray(GOAL.bounds) @ rotation.T
    agent = BlindSpamAgent()
    agent.begin(replace(GOAL, bounds=tuple((float(x), float(y)) for x, y in corners)))
    centre = np.asarray(corners).mean(axis=0)
    place, yaw = np.array([*centre, -30.0]), 0.0
    ahead, visited = 0.0, []
    for index in range(300):
        pose = Pose.from_euler((place[0], place[1], place[2]), 0.0, 0.0, yaw)
        turn = agent.decide(observation(index, pose=pose), STATUS)
        (report,) = turn.reports
        assert report.label == 'PLATFORM'
        assert report.position is None
        assert report.observation_index == index
        action, magnitude = turn.decision.action, turn.decision.magnitude
        assert magnitude is not None
        if action is Action.FORWARD:
            place = place + magnitude * np.array([math.cos(yaw), math.sin(yaw), 0.0])
            ahead += magnitude
        else:
            assert action in ROTATIONS
            yaw += math.radians(magnitude) * (1.0 if action is Action.ROTATE_LEFT else -1.0)
        visited.append(place[:2])
    local = (np.array(visited) - centre) @ rotation
    # Corners are passed within the tolerance of 3 m.
    assert np.abs(local).max(axis=0) == pytest.approx([130.0, 100.0], abs=3.5)
    assert ahead > 2 * 920.0
    assert place[2] == -30.0


# ------------------------------------------------------------------ the oracle


def test_the_oracle_refuses_to_guess() -> None:
    agent = make_agent('oracle', AgentSettings())
    assert agent.privileged
    with pytest.raises(OceanGymError, match='truth'):
        agent.begin(GOAL)


def test_only_the_oracle_is_privileged() -> None:
    for name in ('idle', 'random', 'blind_spam', 'survey'):
        assert not make_agent(name, AgentSettings()).privileged, name


def test_unknown_agents_and_a_replay_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'survey'"):
        make_agent('survy', AgentSettings())
    with pytest.raises(OceanGymError, match='replay:=RUN_DIRECTORY'):
        make_agent('replay', AgentSettings())
    with pytest.raises(OceanGymError, match='no_run'):
        make_agent(
            'replay',
            AgentSettings(options=RunOptions(agent='replay', replay=str(tmp_path / 'no_run'))),
        )
    assert set(AGENTS) == set(OPTIONS_AGENTS) - {'teleop', 'none'}


# ------------------------------------------------------------------ detection


@pytest.mark.parametrize(
    ('forward', 'port'), [(12.0, 0.0), (10.0, 6.0), (10.0, -6.0), (20.0, 9.0)]
)
def test_a_ball_is_one_contact_at_its_range_and_azimuth(forward: float, port: float) -> None:
    spec = sonar()
    (contact,) = sonar_contacts(ping(spec, ball=(forward, port, 1.0)), spec)
    assert contact.range == pytest.approx(math.hypot(forward, port), abs=0.3)
    assert contact.azimuth == pytest.approx(math.atan2(port, forward), abs=math.radians(1.5))
    # The box around a disc of 2 m, widened by the smoothing.
    assert 2.0 < contact.extent < 4.0


def test_neither_noise_nor_a_wall_is_a_compact_contact() -> None:
    spec = sonar()
    assert sonar_contacts(ping(spec), spec) == ()
    assert sonar_contacts(ping(spec, wall=12.0), spec) == ()


@pytest.mark.parametrize('ahead', [3.0, 9.5, 25.0])
def test_the_nearest_return_is_the_wall_ahead(ahead: float) -> None:
    spec = sonar()
    found = nearest_return(ping(spec, wall=ahead), spec, sector=math.radians(20.0))
    # From the wall's face straight ahead to where the sector's edge meets it.
    assert ahead - 0.5 <= found <= ahead / math.cos(math.radians(20.0))


def test_what_lies_aside_is_not_ahead() -> None:
    spec = sonar()
    aside = ping(spec, ball=(6.0, 8.0, 1.0))
    assert nearest_return(aside, spec, sector=math.radians(20.0)) == math.inf
    assert nearest_return(ping(spec), spec, sector=math.radians(20.0)) == math.inf


def test_water_is_ordinary_and_paint_is_not() -> None:
    assert colour_anomaly(water()) < 0.01
    small, large = colour_anomaly(water(0.01)), colour_anomaly(water(0.06))
    # The painted share, and what of the water around it the wide blur carries it into.
    assert 0.01 <= small < 0.06 <= large


@pytest.mark.parametrize(('ahead', 'port'), [(20.0, 0.0), (15.0, -12.0)])
def test_an_echo_has_the_place_size_and_level_of_what_reflects(ahead: float, port: float) -> None:
    """A disc of radius R has variance R^2 / 4 along each axis: 2 R is four deviations."""
    spec, radius = sonar(), 2.0
    (echo,) = bright_echoes(ping(spec, ball=(ahead, port, radius)), spec)
    assert echo.range == pytest.approx(math.hypot(ahead, port), abs=0.3)
    assert echo.azimuth == pytest.approx(math.atan2(port, ahead), abs=math.radians(1.0))
    # Averaging to cells of 0.15 m and half a degree, and over three of them, widens it.
    assert (echo.length, echo.width) == pytest.approx((2 * radius,) * 2, rel=0.2)
    assert echo.area == pytest.approx(math.pi * radius**2, rel=0.35)
    assert echo.peak == pytest.approx(10 * math.log10(ECHO), abs=0.1)
    # Over open water, which counts as -45 dB.
    assert echo.contrast == pytest.approx(10 * math.log10(ECHO) + 45.0, abs=0.5)
    assert bright_echoes(ping(spec), spec) == ()


# ------------------------------------------------------------------ the surveyor


TURBINE = replace(GOAL, target_description='A single steel pile six metres thick.')


def heard(index: int, direction: str, ball: tuple[float, float, float] | None) -> Observation:
    """Return an observation with a ball (x forward, y port, radius [m]) before one sonar."""
    spec = sonar(direction)
    return replace(
        observation(index),
        sonars={direction: ping(spec, ball=ball)},
        sonar_geometry={direction: spec},
    )


@pytest.mark.parametrize(
    ('direction', 'towards'),
    [
        ('front', (1.0, 0.0, 0.0)),
        ('left', (0.0, 1.0, 0.0)),
        ('right', (0.0, -1.0, 0.0)),
        ('back', (-1.0, 0.0, 0.0)),
    ],
)
def test_the_surveyor_reports_what_it_hears_twice_at_one_place(
    direction: str, towards: tuple[float, float, float]
) -> None:
    agent = SurveyAgent()
    agent.begin(TURBINE)
    pile = (20.0, 0.0, 2.0)
    assert not agent.decide(heard(0, direction, pile), STATUS).reports
    # Further off than two echoes of one thing are.
    assert not agent.decide(heard(1, direction, (33.0, 0.0, 2.0)), STATUS).reports
    turn = agent.decide(heard(2, direction, pile), STATUS)
    (report,) = turn.reports
    assert report.label == 'PLATFORM'
    assert (report.sensor, report.direction) == ('sonar', direction)
    expected = np.array([225.0, -75.0, -60.0]) + 20.0 * np.array(towards)
    assert report.position == pytest.approx(expected, abs=0.6)
    # There is one target, so that nothing else is claimed.
    for index in range(3, 6):
        assert not agent.decide(heard(index, direction, (12.0, 0.0, 2.0)), STATUS).reports


@pytest.mark.parametrize(
    ('description', 'area', 'ball'),
    [
        ('A single steel pile.', (), None),
        ('A single steel pile.', (), (20.0, 0.0, 0.7)),  # 1.5 m2: a stone
        ('A coral.', (), (20.0, 0.0, 2.0)),  # no known form
        ('A steel pipeline.', (), (20.0, 0.0, 2.0)),  # not long
        # The search area ends 200 m off.
        ('A steel pile.', ((425, 0), (525, 0), (525, 90), (425, 90)), (20.0, 0.0, 2.0)),
    ],
)
def test_the_surveyor_claims_nothing_else(
    description: str,
    area: tuple[tuple[float, float], ...],
    ball: tuple[float, float, float] | None,
) -> None:
    agent = SurveyAgent()
    agent.begin(replace(GOAL, target_description=description, search_area=area))
    for index in range(4):
        assert not agent.decide(heard(index, 'front', ball), STATUS).reports


def test_the_surveyor_keeps_its_altitude_and_its_distance() -> None:
    agent = SurveyAgent()
    agent.begin(GOAL)
    assert agent.decide(observation(altitude=3.0), STATUS).decision.action is Action.UP
    # It flies on over what it climbed for, and dives after that.
    over = agent.decide(observation(altitude=20.0), STATUS).decision
    assert over.action is Action.FORWARD or over.action in ROTATIONS
    high = agent.decide(observation(altitude=20.0), STATUS).decision
    assert high.action is Action.DOWN
    assert high.magnitude == pytest.approx(11.0)  # to the cruise altitude of 9 m
    spec = sonar()
    facing = replace(
        observation(), sonars={'front': ping(spec, wall=6.0)}, sonar_geometry={'front': spec}
    )
    assert agent.decide(facing, STATUS).decision.action is Action.UP


@pytest.mark.parametrize('bearing', [None, 2.1])
def test_the_pattern_obeys_the_order_that_a_task_gives(bearing: float | None) -> None:
    area = ((0.0, 0.0), (200.0, 0.0), (200.0, 160.0), (0.0, 160.0))
    order = MissionOrder(
        area=area,
        bearing=bearing,
        bearing_from=None if bearing is None else (300.0, -300.0),
        landmark='pipeline',
        distance=60.0,
    )
    shift = FrameShift(1500.0, -700.0, 0.4)
    here = shift.points_to_odom([(90.0, 60.0, 0.0)])[0]
    goal = replace(
        GOAL,
        bounds=bounds_polygon((-200.0, -400.0, -100.0), (650.0, 250.0, 0.0), shift),
        mission_order=order.text(shift),
        search_area=order.area_in_odom(shift),
    )
    places = np.array(ordered_waypoints(goal, (float(here[0]), float(here[1]))))
    flown = shift.points_to_map(np.column_stack([places, np.zeros(len(places))]))[:, :2]
    # Four lanes over the 160 m at most 40 m apart, 20 m from their ends.
    lanes = flown[-8:]
    assert sorted(set(np.round(lanes[:, 0]))) == [20, 180]
    assert sorted(set(np.round(lanes[:, 1]))) == [20, 60, 100, 140]
    first = flown[:-8]
    if bearing is None:
        # Once round the start.
        assert np.linalg.norm(first - (90.0, 60.0), axis=1).max() < 60.0
        assert len(first) == 4
        return
    along = np.array([math.cos(bearing), math.sin(bearing)])
    off = (first - (300.0, -300.0)) @ np.array([-along[1], along[0]])
    # Told in steps of five degrees: at most 2.5 degrees off at 535 m.
    assert len(first) > 5 and np.abs(off).max() < 24.0
    assert ((first >= 0) & (first <= (200.0, 160.0))).all()
    away = np.linalg.norm(first - (90.0, 60.0), axis=1)
    assert away[0] == away.min()


def test_the_survey_stays_in_the_bounds_and_ends_by_itself() -> None:
    """Flown with perfect maneuvers over a flat seabed until the spiral has filled the bounds."""
    agent = SurveyAgent()
    agent.begin(GOAL)
    place, yaw = np.array([144.0, -114.0, -60.0]), 0.0
    visited = [place]
    for index in range(4000):
        pose = Pose.from_euler((place[0], place[1], place[2]), 0.0, 0.0, yaw)
        decision = agent.decide(observation(index, pose=pose), STATUS).decision
        if decision.action is Action.STOP:
            break
        assert decision.magnitude is not None
        if decision.action is Action.FORWARD:
            place = place + decision.magnitude * np.array([math.cos(yaw), math.sin(yaw), 0.0])
        elif decision.action in ROTATIONS:
            sign = 1.0 if decision.action is Action.ROTATE_LEFT else -1.0
            yaw += sign * math.radians(decision.magnitude)
        visited.append(place)
    assert decision.action is Action.STOP
    track = np.array(visited)
    assert track[:, 0].min() > -200.0 and track[:, 0].max() < 650.0
    assert track[:, 1].min() > -400.0 and track[:, 1].max() < 250.0
    # Every place inside the margin of 20 m has been passed within a lane's spacing of 40 m.
    for x, y in np.mgrid[-180:630:40, -380:230:40].reshape(2, -1).T:
        assert np.hypot(track[:, 0] - x, track[:, 1] - y).min() < 40.0
