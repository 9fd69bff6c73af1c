"""Checks a submitted run: its score against its record, its record against the simulator.

Anybody can repeat what a run's vehicle did: its commands are in the record, and the same commands
from the same start give the same trajectory. What a model saw or meant cannot be repeated, but where
the vehicle was, what it could perceive there and how that is scored can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
import math
from pathlib import Path
import tempfile
from typing import Any

import numpy as np

from oceangym_agent.agents.replay import ReplayAgent
from oceangym_agent.trace import TRACE_FILE
from oceangym_bench.execution.episode import run_episode
from oceangym_bench.execution.simulator_cache import SimulatorCache
from oceangym_bench.verify.differences import first_difference, short
from oceangym_bench.verify.trace_check import has_trace, report_difference
from oceangym_core.config.options import MODEL_AGENTS, RunOptions
from oceangym_core.config.setup import EpisodeSetup
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_json
from oceangym_core.record.episode import Episode
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import Ending, SCORE_FILE, Step
from oceangym_core.record.version import benchmark_entry, BENCHMARK_VERSION
from oceangym_core.scoring import rescore
from oceangym_tasks.episode_files import PRIVILEGED_AGENTS

# Farther than this from where the recorded commands lead, a position was not flown [m].
TOLERANCE_M = 0.01
# Rows and contacts may lie on either side of a tick of the monitor [s].
CONTACT_TOLERANCE_S = 0.1
# Pixels and cells may differ by a few between processors, where an edge meets a pixel's corner.
SIGHTING_TOLERANCE = 0.05
SIGHTING_SLACK = 8


class Outcome(str, Enum):
    """What a check found."""

    PASSED = 'passed'
    FAILED = 'failed'
    SKIPPED = 'not compared'


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check: its name, its outcome and what was found."""

    check: str
    outcome: Outcome
    detail: str = ''


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is to be thought of a run."""

    run: Path
    findings: tuple[Finding, ...]

    @property
    def rejected(self) -> bool:
        """Whether a check failed."""
        return any(finding.outcome is Outcome.FAILED for finding in self.findings)

    @property
    def accepted(self) -> bool:
        """Whether no check failed and the commands were flown again."""
        return not self.rejected and any(
            finding.check == 'trajectory' and finding.outcome is Outcome.PASSED
            for finding in self.findings
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            'run': str(self.run),
            'accepted': self.accepted,
            'rejected': self.rejected,
            'findings': [
                {'check': f.check, 'outcome': f.outcome.value, 'detail': f.detail}
                for f in self.findings
            ],
        }


def verify_run(run: Path, simulators: SimulatorCache, *, render: bool = True) -> Verdict:
    """Check a run directory.

    Args:
        run: The directory.
        simulators: Of simulators, kept from run to run.
        render: Whether to compare what was perceptible too, which takes most of the time.

    Raises:
        OceanGymError: The directory holds no record that can be read.
    """
    episode = load_episode(run)
    findings = [_check_record(episode), _check_score(run), *_check_trace(episode, run)]
    if not any(finding.outcome is Outcome.FAILED for finding in findings):
        findings += _check_origin(episode, run, simulators, render)
    return Verdict(run=run, findings=tuple(findings))


def _check_trace(episode: Episode, run: Path) -> list[Finding]:
    """Compare the reports with what a model said; nothing to say of agents without one."""
    if has_trace(run):
        try:
            return [_finding('reports', report_difference(episode, run), 'as in the trace')]
        except OceanGymError as error:
            return [_finding('reports', str(error))]
    if episode.info.options.get('agent') in MODEL_AGENTS:
        return [_skipped('reports', f'the run holds no {TRACE_FILE}')]
    return []


def _check_record(episode: Episode) -> Finding:
    if episode.ending is Ending.INTERRUPTED:
        return _finding('record', 'it stops without a closing line: the run was killed')
    return _finding(
        'record', '', f'{len(episode.steps)} observations, ended by {episode.ending.value}'
    )


def _finding(check: str, problem: str, detail: str = '') -> Finding:
    outcome = Outcome.FAILED if problem else Outcome.PASSED
    return Finding(check=check, outcome=outcome, detail=problem or detail)


def _skipped(check: str, reason: str) -> Finding:
    return Finding(check=check, outcome=Outcome.SKIPPED, detail=reason)


def _check_score(run: Path) -> Finding:
    path = run / SCORE_FILE
    if not path.is_file():
        return _finding('score', f'{SCORE_FILE} is missing')
    claimed = read_json(path)
    if not isinstance(claimed, dict):
        return _finding('score', f'{SCORE_FILE} does not hold a mapping')
    scored = rescore(run)
    difference = first_difference(_comparable(claimed), _comparable(scored))
    headline = scored['scorers']['verified']['score']
    text = 'unscored' if headline is None else f'verified score {headline:.2f}'
    return _finding('score', difference and f'{SCORE_FILE} says {difference} by its record', text)


def _comparable(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score without what wall time decides, or other runs."""
    content = {key: value for key, value in score.items() if key != 'wall'}
    path = content.get('path')
    if isinstance(path, dict):
        content['path'] = {k: v for k, v in path.items() if k != 'over_oracle'}
    return content


def _check_origin(
    episode: Episode, run: Path, simulators: SimulatorCache, render: bool
) -> list[Finding]:
    """Check what the run was made with, and fly it again."""
    try:
        options = _replay_options(episode, run, render)
        setup, simulator = simulators.prepare(options)
    except OceanGymError as error:
        return [_finding('setup', f'cannot be set up here: {error}')]
    findings = [_check_benchmark(episode, setup), _check_setup(episode, setup)]
    if any(finding.outcome is Outcome.FAILED for finding in findings):
        return findings
    reason = _why_not_flown(episode)
    if reason:
        return [*findings, _skipped('trajectory', reason)]
    with tempfile.TemporaryDirectory(prefix='oceangym_verify_') as folder:
        outcome = run_episode(
            setup, simulator, agent=ReplayAgent(run=run), results_dir=Path(folder)
        )
        assert outcome.directory is not None
        flown = load_episode(outcome.directory)
    return [*findings, *compare_flights(episode, flown, sightings=options.sensors != 'none')]


def _replay_options(episode: Episode, run: Path, render: bool) -> RunOptions:
    options = RunOptions.from_dict(episode.info.options)
    return replace(
        options,
        agent='replay',
        replay=str(run),
        model='',
        base_url='',
        memory_from='',
        sensors=options.resolved_sensors if render else 'none',
        sonar='none',
        detector=False,
    )


def _check_benchmark(episode: Episode, setup: EpisodeSetup) -> Finding:
    claimed = episode.info.benchmark
    version = claimed.version
    if version != BENCHMARK_VERSION:
        made = f'made with benchmark {version}' if version else 'of before there was a version'
        return _finding('benchmark', f'it is {made}; this software verifies {BENCHMARK_VERSION}')
    options = RunOptions.from_dict(episode.info.options)
    try:
        ours = benchmark_entry(options, task=setup.task, world=setup.world, water=setup.water)
    except OceanGymError as error:
        return _finding('benchmark', f'{error}')
    others = [n for n, digest in ours.hashes.items() if claimed.hashes.get(n) != digest]
    problem = f'it was made with other {", ".join(others)} than are here' if others else ''
    if not problem and claimed.track != ours.track:
        problem = f'it claims track {claimed.track}, its options make it {ours.track}'
    return _finding('benchmark', problem, f'{version}, track {ours.track}')


def _check_setup(episode: Episode, setup: EpisodeSetup) -> Finding:
    """Compare what run.yaml says of start, targets and frame with what its options lead to."""
    info = episode.info
    targets = [(t.name, t.point, t.weight, t.accepted_labels) for t in info.targets]
    expected: dict[str, tuple[Any, Any]] = {
        'task': (info.task.id, setup.task.id),
        'targets': (
            targets,
            [(t.name, t.point, t.weight, t.accepted_labels) for t in setup.targets],
        ),
        't_max': (info.t_max, float(setup.t_max)),
        't_interval': (info.t_interval, float(setup.t_interval)),
        'bounds': ((info.world.lower, info.world.upper), (setup.bounds.lower, setup.bounds.upper)),
        'shift': (info.shift, setup.shift),
        'privileged': (info.privileged, info.options.get('agent') in PRIVILEGED_AGENTS),
        'agent': (info.agent, RunOptions.from_dict(info.options).agent_name),
    }
    for name, (recorded, ours) in expected.items():
        if recorded != ours:
            return _finding(
                'setup', f'{name} is {short(recorded)}, but its options give {short(ours)}'
            )
    gap = _gap(info.start.pose.position, setup.start.pose.position)
    if gap > TOLERANCE_M:
        return _finding('setup', f'its start lies {gap:.2f} m from the one that its options give')
    return _finding(
        'setup', '', f'{setup.task.id} in {setup.water.id} water from {setup.start.name}'
    )


def _why_not_flown(episode: Episode) -> str:
    options = episode.info.options
    if options.get('backend') != 'embedded':
        return f'it was made with backend {options.get("backend")}, which is not repeatable'
    if options.get('mode') != 'lockstep':
        return 'it was made in realtime mode, where wall time decides'
    missing = [step.index for step in episode.steps[1:] if step.decision is None]
    if missing:
        return f'its agent published no decision before observation {missing[0]}'
    return ''


def compare_flights(recorded: Episode, flown: Episode, *, sightings: bool) -> list[Finding]:
    """Compare a record with the flight of its commands, up to the first contact."""
    ours, theirs = _first_contact(flown), _first_contact(recorded)
    if (
        abs(ours - theirs) > CONTACT_TOLERANCE_S
        if math.isfinite(ours + theirs)
        else ours != theirs
    ):
        return [
            _finding(
                'contacts',
                f'its first contact is {_at(theirs)}, that of its commands {_at(ours)}',
            )
        ]
    until = ours - CONTACT_TOLERANCE_S
    findings = [
        _check_steps(recorded, flown, until),
        _check_trajectory(recorded, flown, until),
        _check_estimates(recorded, flown, until),
    ]
    if sightings:
        findings.append(_check_sightings(recorded, flown, until))
    else:
        findings.append(_skipped('sightings', 'nothing was rendered'))
    if math.isfinite(ours):
        last = recorded.steps[-1].t
        findings.append(
            _skipped(
                'after contact', f'what followed the first contact {_at(ours)} of {last:.0f} s'
            )
        )
    return findings


def _first_contact(episode: Episode) -> float:
    """Return when the vehicle first touched anything [s], infinity if it never did."""
    return min((c.stamp for step in episode.steps for c in step.contacts), default=math.inf)


def _at(stamp: float) -> str:
    return f'at {stamp:.1f} s' if math.isfinite(stamp) else 'never'


def _steps_until(episode: Episode, until: float) -> list[Step]:
    return [step for step in episode.steps if step.t < until]


def _check_steps(recorded: Episode, flown: Episode, until: float) -> Finding:
    ours = [(s.index, round(s.t, 3)) for s in _steps_until(flown, until)]
    theirs = [(s.index, round(s.t, 3)) for s in _steps_until(recorded, until)]
    if ours != theirs:
        odd = next((b for a, b in zip(ours, theirs) if a != b), None)
        what = f'observation {odd[0]} at {odd[1]:g} s' if odd else f'{len(theirs)} observations'
        return _finding('steps', f'it has {what}, its commands give {len(ours)}')
    whole = not recorded.ending.partial and not math.isfinite(until)
    if whole and flown.ending is not recorded.ending:
        return _finding(
            'steps', f'it ended by {recorded.ending.value}, its commands by {flown.ending.value}'
        )
    return _finding('steps', '', f'{len(theirs)} observations')


def _check_trajectory(recorded: Episode, flown: Episode, until: float) -> Finding:
    ours, theirs = (e.trajectory[e.trajectory[:, 0] < until] for e in (flown, recorded))
    if len(ours) != len(theirs) or not np.allclose(ours[:, 0], theirs[:, 0], atol=1e-3):
        return _finding(
            'trajectory', f'it has {len(theirs)} places in time, its commands give {len(ours)}'
        )
    gaps = np.linalg.norm(ours[:, 1:4] - theirs[:, 1:4], axis=1)
    return _judge_gaps('trajectory', gaps, theirs[:, 0])


def _check_estimates(recorded: Episode, flown: Episode, until: float) -> Finding:
    ours, theirs = _steps_until(flown, until), _steps_until(recorded, until)
    pairs = list(zip(ours, theirs))
    gaps = np.array([_gap(a.estimate.position, b.estimate.position) for a, b in pairs])
    return _judge_gaps('odometry', gaps, np.array([b.t for _, b in pairs]))


def _judge_gaps(check: str, gaps: np.ndarray[Any, Any], times: np.ndarray[Any, Any]) -> Finding:
    if len(gaps) == 0:
        return _skipped(check, 'it touched something at once')
    worst = int(np.argmax(gaps))
    if gaps[worst] > TOLERANCE_M:
        return _finding(
            check,
            f'{gaps[worst]:.2f} m off at {times[worst]:.0f} s from where its commands lead '
            f'(allowed: {TOLERANCE_M:g} m)',
        )
    return _finding(check, '', f'within {gaps[worst] * 1000:.2f} mm at {len(gaps)} instants')


def _gap(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)))


def _check_sightings(recorded: Episode, flown: Episode, until: float) -> Finding:
    """Compare what could be perceived; without it no report counts as verified."""
    for ours, theirs in zip(_steps_until(flown, until), _steps_until(recorded, until)):
        a, b = (
            {(s.anchor, s.sensor): (s.pixels, s.cells) for s in step.sightings}
            for step in (ours, theirs)
        )
        for key in sorted({*a, *b}):
            for n, m in zip(a.get(key, (0, 0)), b.get(key, (0, 0))):
                if abs(n - m) > SIGHTING_SLACK + SIGHTING_TOLERANCE * max(n, m):
                    return _finding(
                        'sightings',
                        f'observation {theirs.index} claims {m} pixels or cells of {key[0]} in '
                        f'{key[1]}, there are {n}',
                    )
    return _finding('sightings', '')
