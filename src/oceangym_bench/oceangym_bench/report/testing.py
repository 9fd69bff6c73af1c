"""A made-up run with everything that a report can show, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import io
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oceangym_agent.chat import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    ImagePart,
    Role,
    TextPart,
)
from oceangym_agent.replies.reply import ParsedReply
from oceangym_agent.trace import Call, DecisionTrace, Purpose, TraceWriter
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action, DIRECTIONS
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import Contact, Sighting
from oceangym_core.geometry import Pose
from oceangym_core.record.bag import BagWriter, typestore
from oceangym_core.record.schema import Ending, RunInfo
from oceangym_core.record.writer import RunWriter
from oceangym_core.scoring.score import score_episode
from oceangym_core.testing.records import (
    Leg,
    maneuver_to,
    navigation_at,
    run_info,
    StepClock,
    targets_at,
    truth_at,
)

# On the shipped world's seabed, within reach of each other.
TARGETS = ((207.0, -30.0, -66.0), (345.0, -165.0, -32.0), (539.0, -233.0, -42.0))
START = (144.0, -114.0, -58.0)
INTERVAL_S = 30.0
_SIDE = 96


def sample_info(*, agent: str = 'survey', has_truth: bool = True) -> RunInfo:
    """Return the fixed part of a run about the oil pipe, flown by `agent`."""
    start = Pose.from_euler(START, 0, 0, 0.9)
    made = run_info(targets_at(TARGETS), start=start, options=RunOptions(), has_truth=has_truth)
    options = {**made.options, 'agent': 'mllm' if agent != 'survey' else agent}
    task = made.task.model_copy(update={'title': 'Inspect the oil pipe', 'alias': 'task2'})
    return made.model_copy(update={'agent': agent, 'options': options, 'task': task})


def sample_legs(decisions: int) -> list[Leg]:
    """Return observations on the way from the start towards the first target, one more than decisions."""
    ends = np.linspace(START, (200.0, -40.0, -60.0), decisions + 1)
    legs = []
    for index, end in enumerate(ends):
        begin = ends[max(index - 1, 0)]
        seconds = np.arange(1, INTERVAL_S) if index else np.empty(0)
        way = begin + (end - begin) * (seconds / INTERVAL_S)[:, None]
        times = INTERVAL_S * (index - 1) + seconds
        x, y, z = (float(v) for v in end)
        legs.append(Leg(position=(x, y, z), yaw=0.9, trajectory=np.column_stack([times, way])))
    last = len(legs) - 1
    seen = Sighting(anchor='a', sensor='camera/front', pixels=500)
    legs[last] = replace(
        legs[last],
        sightings=(seen,),
        reports=(
            FindReport(
                label='OIL PIPELINE', position=TARGETS[0], sensor='camera', direction='front'
            ),
        ),
    )
    legs[1] = replace(
        legs[1],
        contacts=(Contact(stamp=12.0, instance='rock_1', speed=0.3),),
        standoff=(1, 4.5),
        reports=(FindReport(label='SUNKEN SHIP', position=START, direction='down'),),
    )
    return legs


def picture(number: int) -> NDArray[np.uint8]:
    """Return a picture (H, W, 3) unlike that of any other number."""
    y, x = np.mgrid[0:_SIDE, 0:_SIDE]
    return np.stack([x * 2, y * 2, np.full_like(x, number % 256)], axis=-1).astype(np.uint8)


def jpeg(image: NDArray[np.uint8]) -> bytes:
    """Return an image as a JPEG."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, 'JPEG')
    return stream.getvalue()


def write_sample_run(
    directory: Path,
    *,
    decisions: int = 5,
    replies: Sequence[str] | None = None,
    bag: bool = True,
    ending: Ending | None = Ending.STOP,
    has_truth: bool = True,
) -> Path:
    """Write a run directory and return it.

    Args:
        directory: Must not exist.
        decisions: How many were taken.
        replies: A model's reply by decision; None for an agent without a model.
        bag: Whether there is a bag with images.
        ending: None for a run that was killed: no closing line, no score.
        has_truth: Whether the truth was recorded.
    """
    directory.mkdir(parents=True)
    info = sample_info(agent='survey' if replies is None else 'sample-model', has_truth=has_truth)
    legs = sample_legs(decisions)
    writer = RunWriter(directory, info, clock=StepClock())
    pending: list[tuple[FindReport, bool]] = []
    decision: Decision | None = None
    for index, leg in enumerate(legs):
        stamp = INTERVAL_S * index
        pose = Pose.from_euler(leg.position, 0, 0, leg.yaw)
        writer.write_step(
            index=index,
            navigation=navigation_at(info.shift.to_odom(pose), stamp),
            truth=truth_at(leg, index, stamp) if has_truth else None,
            maneuver=None if index == 0 else maneuver_to(index),
            decision=decision,
            reports=pending,
        )
        pending = [
            (replace(report, observation_index=index, stamp=stamp), True) for report in leg.reports
        ]
        decision = _decision(index, replies)
    if ending is not None:
        stop = replace(_decision(decisions, replies), action=Action.STOP)
        writer.write_end(t=INTERVAL_S * decisions, ending=ending, decision=stop, reports=pending)
        score = score_episode(writer.episode())
        writer.write_score(score if replies is None else {**score, 'benchmark': _BENCHMARK})
    writer.close()
    if replies is not None:
        _write_trace(directory, replies)
    if bag:
        write_sample_bag(directory / 'bag', len(legs))
    return directory


_BENCHMARK = {'version': '1.0.0', 'track': 'V', 'hashes': {'prompt': 'b' * 64}}


def _decision(index: int, replies: Sequence[str] | None) -> Decision:
    if replies is None:
        return Decision(index=index, action=Action.FORWARD, magnitude=20.0, description='sand')
    text = replies[index % len(replies)]
    return Decision(
        index=index,
        action=Action.FORWARD,
        magnitude=20.0,
        description=text[:2000],
        finds=(text[:200],),
        raw_reply=text,
        invalid_replies=int(index == 2),
        tokens_in=4000 + index,
        tokens_out=150,
        cost=0.001,
        latency_s=2.5,
    )


def _write_trace(directory: Path, replies: Sequence[str]) -> None:
    writer = TraceWriter(directory, clock=StepClock())
    for index, text in enumerate(replies):
        pictures = [
            ImagePart(
                name=f'camera_{direction}',
                data=jpeg(picture(10 * index + number)),
                media_type='image/jpeg',
                width=_SIDE,
                height=_SIDE,
            )
            for number, direction in enumerate(DIRECTIONS)
        ]
        request = ChatRequest(
            messages=(
                ChatMessage(role=Role.SYSTEM, parts=(TextPart(text='You pilot a vehicle.'),)),
                ChatMessage(role=Role.USER, parts=(TextPart(text=f'Step: {index}'), *pictures)),
            )
        )
        reply = ChatReply(text=text, model='sample-model-1', tokens_in=4000, tokens_out=150)
        step = DecisionTrace(index=index, t=INTERVAL_S * index)
        if index == 2:
            wrong = replace(reply, text='no command')
            step.calls.append(
                Call(purpose=Purpose.SINGLE, request=request, reply=wrong, error='no command')
            )
        step.calls.append(
            Call(
                purpose=Purpose.REASK if index == 2 else Purpose.SINGLE,
                request=request,
                reply=reply,
            )
        )
        step.parsed = ParsedReply(action=Action.FORWARD, magnitude=20.0, reason=text[:500])
        writer.write(step)


def write_sample_bag(directory: Path, observations: int) -> None:
    """Write a bag with the pictures of all cameras and sonars at each observation."""
    types = typestore().types
    writer = BagWriter(directory, custom={'run_id': 'sample'})
    compressed, image = 'sensor_msgs/msg/CompressedImage', 'sensor_msgs/msg/Image'
    cameras = {d: f'/auv/camera/{d}/image_raw/compressed' for d in DIRECTIONS}
    fans = {d: f'/auv/sonar/{d}/fan' for d in DIRECTIONS}
    for topic in cameras.values():
        writer.add_topic(topic, compressed)
    for topic in fans.values():
        writer.add_topic(topic, image)
    for index in range(observations):
        stamp = int(INTERVAL_S * index)
        header = types['std_msgs/msg/Header'](
            stamp=types['builtin_interfaces/msg/Time'](sec=stamp, nanosec=0), frame_id='camera'
        )
        for number, direction in enumerate(DIRECTIONS):
            shown = picture(100 + 10 * index + number)
            data = np.frombuffer(jpeg(shown), np.uint8)
            message = types[compressed](header=header, format='rgb8; jpeg', data=data)
            grey = np.ascontiguousarray(
                shown[: _SIDE // 2, :, 0] + np.uint8((number + 10 * index) % 256)
            )
            fan = types[image](
                header=header,
                height=_SIDE // 2,
                width=_SIDE,
                encoding='mono8',
                is_bigendian=0,
                step=_SIDE,
                data=grey.ravel(),
            )
            for topic, kind, content in (
                (cameras[direction], compressed, message),
                (fans[direction], image, fan),
            ):
                cdr = typestore().serialize_cdr(content, kind)
                writer.write(topic, stamp * 1_000_000_000, bytes(cdr))
    writer.close()


def embedded_data(page: Path) -> dict[str, object]:
    """Return the data that a run's page carries for its script."""
    text = page.read_text(encoding='utf-8')
    start = text.index('<script type="application/json" id="run-data">')
    begin = text.index('>', start) + 1
    data: dict[str, object] = json.loads(text[begin : text.index('</script>', begin)])
    return data
