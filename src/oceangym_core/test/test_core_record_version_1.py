"""Kept records of format 1: the writer makes the same bytes, and they score to the same digits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.contract.actions import Action, Course, EndReason
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import (
    Contact,
    ManeuverResult,
    NavigationState,
    Sighting,
    StepTruth,
)
from oceangym_core.geometry import Pose
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import Ending
from oceangym_core.record.writer import RunWriter
from oceangym_core.scoring import rescore
from oceangym_core.testing.records import StepClock

KEPT = Path(__file__).parent / 'records' / 'version_1'
# The last two are at the first target of the one kept run.
PLACES = [(250.0, -70.0, -60.0), (262.5, -71.25, -58.1), (330.0, -150.0, -30.0), (345, -160, -30)]


COURSE = Course(turn_deg=np.float64(30), altitude_m=8.0)


def truth(index: int) -> StepTruth:
    """Return a step's truth, in the number types that simulator and sensors give."""
    seconds = np.arange(30.0 * index - 3, 30.0 * index) + 1 / 3
    rows = np.column_stack(
        [seconds, *np.broadcast_to(PLACES[index], (3, 3)).T, *np.full((3, 3), -0.0), np.ones(3)]
    )
    return StepTruth(
        index=index,
        stamp=30.0 * index,
        pose=Pose.from_euler(PLACES[index], 1e-7, 0.01, 2.0 * index),
        trajectory=rows if index else rows[:0],
        sightings=(
            Sighting(anchor='oil_pipeline_1', sensor='camera/front', pixels=700 * index),
            Sighting(anchor='oil_pipeline_2', sensor='sonar/down', cells=np.int64(2 * index)),
        ),
        contacts=(Contact(stamp=45.00000049, instance='rock_1', speed=0.3),) * (index == 2),
        standoff_events=index,
        standoff_seconds=np.float32(index / 10),
        boundary_events=int(index == 3),
        image_hashes={'sonar/down': 'b' * 8, 'camera/front': 'a' * 8},
    )


def fly(directory: Path, run: Path) -> None:
    """Write four observations with everything that a line can hold, as of a kept run."""
    info = load_episode(run).info
    decisions = [
        Decision(
            index=0,
            action=Action.FORWARD,
            description='zwei Röhren ✓',
            raw_reply='line\nbreak \u2028 "kind": "end" \ud800 \x00 日本',
            tokens_in=4000,
            tokens_out=150,
            cost=1 / 3,
            latency_s=2.5,
        ),
        Decision(
            index=1, action=Action.GO, magnitude=18.0, course=COURSE, notes=('seed refused',)
        ),
        Decision(index=2, action=Action.ROTATE_LEFT, magnitude=45.0, invalid_replies=2),
        Decision(index=3, action=Action.STOP, finds=('PIPE',)),
    ]
    reports = [
        FindReport(label='SUNKEN SHIP', observation_index=0, stamp=0.0, direction='down'),
        FindReport(
            label='oil_pipeline',
            position=tuple(info.shift.points_to_odom((345.0, -165.0, -32.0))),
            sigma=2.0,
            sensor='camera',
            direction='front',
            observation_index=3,
            stamp=90.0,
        ),
    ]
    writer = RunWriter(directory, info, clock=StepClock())
    for index, place in enumerate(PLACES):
        pose = info.shift.to_odom(Pose.from_euler(place, 0.0, 0.0, 2.0 * index + 0.001))
        before = decisions[index - 1] if index else None
        writer.write_step(
            index=index,
            navigation=NavigationState(
                stamp=30.0 * index,
                pose=pose,
                linear_velocity=(0.0, 0.0, 0.0),
                angular_velocity=(0.0, 0.0, 0.0),
                position_sigma=(0.1, 0.1, -0.0),
                depth=10.0,
                altitude=np.inf,
                battery=float(np.float32(0.9)),
            ),
            truth=truth(index) if info.has_truth else None,
            maneuver=before
            and ManeuverResult(
                action=before.action,
                requested=before.magnitude or 20.0,
                applied=19.87654321,
                saturated=index == 1,
                end_reason=EndReason.COMPLETED,
                t_start=30.0 * (index - 1),
                t_end=30.0 * index,
                course=before.course,
                turned_deg=29.9 if before.action is Action.GO else None,
                climbed_m=2.0 if before.action is Action.GO else None,
            ),
            decision=before,
            reports=[(reports[0], True), (reports[0], False)] if index == 1 else (),
        )
    writer.write_end(
        t=90.0, ending=Ending.STOP, message='', decision=decisions[3], reports=[(reports[1], True)]
    )
    writer.close()


@pytest.mark.parametrize('run', sorted(KEPT.iterdir()), ids=lambda run: run.name)
def test_the_same_episode_is_written_to_the_same_bytes(run: Path, tmp_path: Path) -> None:
    fly(tmp_path, run)
    files = {path.name: path.read_bytes() for path in run.iterdir() if path.name != 'score.json'}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert len(files) == 4


@pytest.mark.parametrize('run', sorted(KEPT.iterdir()), ids=lambda run: run.name)
def test_a_kept_record_scores_to_the_same_digits(run: Path) -> None:
    score, kept = rescore(run), json.loads((run / 'score.json').read_text(encoding='utf-8'))
    # The scorers' own digest changes with their source.
    assert score['benchmark']['hashes'].pop('scorers')
    del kept['benchmark']['hashes']['scorers']
    assert score == kept


def test_what_a_model_decided_and_said_is_read_back() -> None:
    first, second, _, stop = load_episode(KEPT / 'with_truth').decisions
    assert first.raw_reply == 'line\nbreak \u2028 "kind": "end" ? \x00 日本'
    assert (first.course, first.tokens) == (Course(), 4150)
    assert (second.action, second.magnitude, second.course) == (Action.GO, 18.0, COURSE)
    assert (stop.action, stop.finds) == (Action.STOP, ('PIPE',))
