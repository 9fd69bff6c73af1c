"""Writing an episode's record step by step, so that a killed run is kept up to its last step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
import json
import os
from pathlib import Path
import re
from typing import Any, TextIO

from pydantic import ValidationError
import yaml

from oceangym_core.assets import assets_root
from oceangym_core.config.mission import MissionOrder
from oceangym_core.config.options import RunOptions
from oceangym_core.config.starts import Start
from oceangym_core.config.tasks import Target, TaskSpec
from oceangym_core.config.waters import Profile, Water
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import ManeuverResult, NavigationState, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.files import is_utf8, SAFE_DUMPER, schema_error, utf8_text, write_atomic
from oceangym_core.paths import user_path
from oceangym_core.record.episode import Episode
from oceangym_core.record.lines import line_text, rounded
from oceangym_core.record.memory_files import ACTION_WORDS, find_text, MemoryEntry, write_memory
from oceangym_core.record.provenance import (
    experience_sources,
    git_state,
    package_versions,
    world_sha256,
)
from oceangym_core.record.schema import (
    End,
    Ending,
    EPISODE_FILE,
    RecordedDecision,
    RecordedReport,
    RecordedTask,
    RecordedWorld,
    RUN_FILE,
    RunInfo,
    RunWall,
    SCORE_FILE,
    Step,
    Wall,
)
from oceangym_core.record.version import benchmark_entry
from oceangym_core.world.world import Bounds, World

# Three of them and the rest of a run's name stay below the 255 bytes of a file's name.
_LONGEST_NAME_PART = 40


def run_id_for(options: RunOptions, now: datetime) -> str:
    """Return the name of a run directory: time, task, water, start, agent and seed."""
    start = 'custom' if ',' in options.start else options.start
    parts = [
        now.strftime('%Y%m%d-%H%M%S'),
        _name_part(Path(options.task).stem),
        _name_part(Path(options.water).stem),
        start,
        _name_part(options.agent_name),
        f's{options.seed}',
    ]
    return '_'.join(parts)


def _name_part(text: str) -> str:
    """Return a file's name as part of a directory's: short enough, and nothing to be quoted."""
    return re.sub(r'[^\w.-]+', '-', utf8_text(text))[:_LONGEST_NAME_PART]


def new_run_directory(results_dir: Path, run_id: str) -> Path:
    """Make and return a run directory that did not exist before.

    Raises:
        OceanGymError: It cannot be made.
    """
    parent = user_path(results_dir)
    if not is_utf8(str(parent.absolute())):
        raise OceanGymError(
            f'{str(parent.absolute())!r} is not UTF-8 text, which ROS and the record need; '
            'give another results_dir:=, or rename it'
        )
    for attempt in range(1, 1000):
        name = run_id if attempt == 1 else f'{run_id}_{attempt}'
        directory = parent / name
        try:
            directory.mkdir(parents=True, exist_ok=False)
        except FileExistsError:
            if not directory.is_dir():
                raise OceanGymError(f'{directory} is in the way of a run directory') from None
        except OSError as error:
            raise OceanGymError(
                f'cannot make {directory}: {error.strerror}; give another results_dir:='
            ) from error
        else:
            return directory
    raise OceanGymError(f'{results_dir} already holds 999 runs named {run_id}')


def make_run_info(
    *,
    run_id: str,
    options: RunOptions,
    task: TaskSpec,
    targets: Sequence[Target],
    world: World,
    bounds: Bounds | None = None,
    shift: FrameShift,
    start: Start,
    order: MissionOrder | None = None,
    water: Water,
    profile: Profile,
    privileged: bool = False,
    has_truth: bool = True,
    started: datetime | None = None,
) -> RunInfo:
    """Return everything that is fixed before an episode begins, with its provenance."""
    bounds = bounds or world.bounds
    return RunInfo(
        run_id=run_id,
        agent=options.agent_name,
        privileged=privileged,
        has_truth=has_truth,
        options=options.as_dict(),
        t_max=task.t_max if options.t_max is None else options.t_max,
        t_interval=task.t_interval if options.t_interval is None else options.t_interval,
        task=RecordedTask(
            id=task.id,
            title=task.title,
            category=task.category,
            size_class=task.size_class,
            alias=task.benchmark.get(options.water),
            measure=task.measure,
            sha256=task.sha256,
        ),
        water=water,
        profile=profile,
        world=RecordedWorld(
            name=world.name,
            seed=world.seed,
            sha256=world_sha256(world),
            lower=bounds.lower,
            upper=bounds.upper,
        ),
        shift=shift,
        start=start,
        order=order,
        targets=tuple(targets),
        benchmark=benchmark_entry(options, task=task, world=world, water=water),
        experience=experience_sources(options),
        versions=package_versions(),
        git=git_state(assets_root()),
        wall=RunWall(started='' if started is None else started.isoformat(timespec='seconds')),
    )


class RunWriter:
    """Writes one run directory; without a directory the record is kept in memory only.

    Args:
        directory: Of the run; must exist and be empty of records.
        info: Written at once.
        clock: Returns the wall time, for the fields that are no part of the experiment.
    """

    def __init__(
        self, directory: Path | None, info: RunInfo, *, clock: Callable[[], datetime]
    ) -> None:
        self.directory = directory
        self.info = info
        self._clock = clock
        self._stream: TextIO | None = None
        self._steps: list[Step] = []
        self._end: End | None = None
        self._places: dict[int, tuple[float, float, float]] = {}
        self._memory: list[MemoryEntry] = []
        self._important: list[MemoryEntry] = []
        if directory is not None:
            self._open(directory)

    def _open(self, directory: Path) -> None:
        episode = directory / EPISODE_FILE
        if episode.exists():
            raise OceanGymError(f'{directory} already holds a record; choose an empty directory')
        text = yaml.dump(
            rounded(self.info.model_dump(mode='json'), decimals=None),
            Dumper=SAFE_DUMPER,
            sort_keys=False,
            default_flow_style=None,
            allow_unicode=True,
        )
        write_atomic(directory / RUN_FILE, text)
        try:
            self._stream = episode.open('x', encoding='utf-8')
        except OSError as error:
            raise OceanGymError(f'cannot write {episode}: {error.strerror}') from error
        stamp = self._clock().strftime('%Y-%m-%d_%H-%M-%S')
        self._memory_path = directory / f'memory_{stamp}.json'
        self._important_path = directory / f'important_memory_{stamp}.json'
        self._write_memories()

    def write_step(
        self,
        *,
        index: int,
        navigation: NavigationState,
        truth: StepTruth | None,
        maneuver: ManeuverResult | None = None,
        decision: Decision | None = None,
        reports: Sequence[tuple[FindReport, bool]] = (),
    ) -> None:
        """Append the line of one observation; the reset's has no maneuver.

        Args:
            index: Of the observation.
            navigation: What the agent was told there.
            truth: What only the simulator knows.
            maneuver: What led to it.
            decision: What was decided before the maneuver.
            reports: Made since the line before, each with whether it was accepted.
        """
        self._places[index] = navigation.pose.position
        # A line that could not be read back is refused here, where its cause is still at hand.
        with _refusing(Step, f'observation {index}'):
            step = Step.of(
                index=index,
                navigation=navigation,
                truth=truth,
                maneuver=maneuver,
                decision=decision,
                reports=tuple(RecordedReport.of(report, ok) for report, ok in reports),
                wall=self._wall(decision),
            )
        self._append(step)
        self._steps.append(step)
        self._remember(decision, reports)

    def write_end(
        self,
        *,
        t: float,
        ending: Ending,
        message: str = '',
        decision: Decision | None = None,
        reports: Sequence[tuple[FindReport, bool]] = (),
    ) -> None:
        """Append the closing line: why the episode ended, its stop, and reports since the last step."""
        with _refusing(End, 'the closing line'):
            self._end = End(
                kind='end',
                t=t,
                ending=ending,
                message=message,
                decision=None if decision is None else RecordedDecision.of(decision),
                reports=tuple(RecordedReport.of(report, ok) for report, ok in reports),
                wall=self._wall(decision),
            )
        self._append(self._end)
        self._remember(decision, reports)

    def write_score(self, score: Mapping[str, Any]) -> None:
        """Write ``score.json`` whole."""
        if self.directory is not None:
            text = json.dumps(score, indent=2, ensure_ascii=False, allow_nan=False)
            write_atomic(self.directory / SCORE_FILE, text + '\n')

    def episode(self) -> Episode:
        """Return the episode so far, as a reader of the files would see it."""
        return Episode(
            info=self.info,
            steps=tuple(self._steps),
            end=self._end,
            memory=tuple(self._memory),
            important=tuple(self._important),
        )

    def close(self) -> None:
        """Close the files; may be called twice."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _wall(self, decision: Decision | None) -> Wall:
        return Wall(
            written=self._clock().isoformat(timespec='milliseconds'),
            latency_s=0.0 if decision is None else decision.latency_s,
        )

    def _append(self, line: Step | End) -> None:
        if self._stream is not None:
            text = line_text(line.model_dump(mode='json', exclude_unset=True))
            try:
                self._stream.write(text + '\n')
                self._stream.flush()
                os.fsync(self._stream.fileno())
            except OSError as error:
                raise OceanGymError(f'cannot write the record: {error.strerror}') from error

    def _remember(
        self, decision: Decision | None, reports: Sequence[tuple[FindReport, bool]]
    ) -> None:
        stamp = self._clock().strftime('%Y-%m-%d %H:%M:%S')
        action = '' if decision is None else ACTION_WORDS[decision.action]
        if decision is not None:
            self._memory.append(
                MemoryEntry(
                    timestamp=stamp,
                    target_info=(decision.description,) if decision.description else (),
                    action=action,
                    location=self._place(decision.index),
                )
            )
        for report, accepted in reports:
            if accepted:
                self._important.append(
                    MemoryEntry(
                        timestamp=stamp,
                        target_info=(find_text(report),),
                        action=action,
                        location=self._place(report.observation_index),
                    )
                )
        if self.directory is not None and (decision is not None or reports):
            self._write_memories()

    def _place(self, index: int | None) -> tuple[float, float, float] | None:
        # The files hold decimetres; so does what is scored before they are read back.
        place = self._places.get(-1 if index is None else index)
        return (
            None if place is None else (round(place[0], 1), round(place[1], 1), round(place[2], 1))
        )

    def _write_memories(self) -> None:
        write_memory(self._memory_path, self._memory)
        write_memory(self._important_path, self._important)


@contextmanager
def _refusing(model: type[Step] | type[End], where: str) -> Iterator[None]:
    """Tell of a value that no line can hold as a reader would."""
    try:
        yield
    except ValidationError as error:
        raise schema_error(where, model, error) from error
