"""What a realtime run had to bring, what came, and what it cost: compared and tabulated."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from pathlib import Path
import statistics
from typing import Any
import zlib

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rosbags.rosbag2 import Reader

from oceangym_core.contract.actions import REALTIME
from oceangym_core.contract.topics import CONTRACT, POLAR_DB, Record

NAMESPACE = 'auv'
_NS_PER_US = 1000


@dataclass
class Soak:
    """What was asked for, and what came of it.

    Attributes:
        minutes: Of simulation time.
        ends: Stamps of the maneuvers' ends [us].
        epoch: Stamp of observation 0 [us].
        heard: Stream -> rows of stamp [ns], arrival [ns], CRC-32.
        kept: Stream -> rows of stamp [ns], CRC-32, from the bag.
        usage: Process -> rows of time [s], resident memory [MB], processor time [s].
        load: The machine's load average over a minute, sampled.
    """

    minutes: float
    record: str
    rtf: float
    ends: list[int] = field(default_factory=list)
    epoch: int = 0
    heard: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    kept: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    usage: dict[str, list[tuple[float, float, float]]] = field(default_factory=dict)
    load: list[float] = field(default_factory=list)
    bag_mb: float = 0.0

    @property
    def seconds(self) -> float:
        """Simulation time [s]."""
        return self.minutes * 60.0


@dataclass(frozen=True, kw_only=True)
class Line:
    """One stream, compared.

    Attributes:
        due: Messages that the contract's rates ask for.
        heard, kept: Of them, what the subscriber heard and what the bag holds; -1: not its business.
        extra: Stamps heard or kept that nobody asked for.
        differing: Messages whose content in the bag is not what the subscriber heard.
    """

    name: str
    due: int
    heard: int
    kept: int
    extra: int = 0
    differing: int = 0

    @property
    def lost(self) -> int:
        """Messages missing with either."""
        return sum(self.due - count for count in (self.heard, self.kept) if count >= 0)

    @property
    def good(self) -> bool:
        """Whether nothing is missing, surplus or different."""
        return self.lost == self.extra == self.differing == 0


def is_image(name: str) -> bool:
    """Whether a stream belongs to the images of an instant."""
    return name.startswith(('camera/', 'sonar/')) and not name.endswith('/info')


def due_stamps(soak: Soak) -> dict[str, frozenset[int]]:
    """Return stream -> the stamps [us] that it must have, from the rates of realtime mode."""

    def every(hertz: float) -> frozenset[int]:
        count = math.floor(soak.seconds * hertz + 1e-6)
        return frozenset(soak.epoch + round(k * 1e6 / hertz) for k in range(1, count + 1))

    first = {soak.epoch}
    instants = every(1.0) | first | set(soak.ends)
    due = {s.name: instants for s in CONTRACT if is_image(s.name)}
    due['/clock'] = every(1.0 / REALTIME.tick) | first
    due['imu'] = every(REALTIME.imu_hz)
    for name in ('odometry', 'tf', 'truth/odometry'):
        due[name] = every(REALTIME.odometry_hz) | (instants if name != 'truth/odometry' else first)
    due['truth/odometry'] |= set(soak.ends)
    for name in ('dvl', 'pressure'):
        due[name] = every(REALTIME.navigation_hz)
    due['altitude'] = every(REALTIME.navigation_hz) | instants
    due['thrusters'] = every(REALTIME.battery_hz)
    due['battery'] = due['trajectory'] = instants
    return due


def compare(soak: Soak) -> list[Line]:
    """Return every stream against what was due."""
    lines = []
    for name, due in due_stamps(soak).items():
        heard, kept = _checksums(soak.heard.get(name), 2), _checksums(soak.kept.get(name), 1)
        in_bag = name in recorded(soak.record)
        # A clock repeats itself while time stands still; stamps are what counts.
        both = set(heard) & set(kept) if recorded(soak.record).get(name) == name else set()
        lines.append(
            Line(
                name=name,
                due=len(due),
                heard=len(due & set(heard)),
                kept=len(due & set(kept)) if in_bag else -1,
                extra=len((set(heard) | set(kept)) - due),
                differing=sum(not heard[stamp] & kept[stamp] for stamp in both),
            )
        )
    return lines


def _checksums(rows: NDArray[np.int64] | None, column: int) -> dict[int, set[int]]:
    """Return stamp [us] -> the checksums of the messages with that stamp."""
    found: dict[int, set[int]] = {}
    for row in () if rows is None else rows.tolist():
        found.setdefault(round(row[0] / _NS_PER_US), set()).add(row[column])
    return found


def incomplete_instants(soak: Soak) -> int:
    """Return how many stamps of images not all image streams share, as heard."""
    sets = [
        {round(stamp / _NS_PER_US) for stamp in soak.heard[name][:, 0].tolist()}
        for name in soak.heard
        if is_image(name)
    ]
    return len(set.union(*sets) - set.intersection(*sets)) if sets else 0


def recorded(level: str) -> dict[str, str]:
    """Return stream -> its name in the bag, for what a recording of a level keeps."""
    names = {}
    for s in CONTRACT:
        if s.record is Record.LIGHT or (s.record is Record.FULL and level == 'full'):
            names[s.name] = s.name
        elif s.name.endswith('/polar') and level == 'light':
            names[s.name] = f'{s.name.removesuffix("polar")}{POLAR_DB}'
    return names


def read_bag(directory: Path, level: str) -> dict[str, NDArray[np.int64]]:
    """Return stream -> rows of stamp [ns] and CRC-32 of what a bag holds."""
    streams = {f'/{NAMESPACE}/{kept}': name for name, kept in recorded(level).items()}
    streams |= {kept: name for name, kept in recorded(level).items() if kept.startswith('/')}
    rows: dict[str, list[tuple[int, int]]] = {}
    with Reader(directory) as reader:
        for connection, stamp, data in reader.messages():
            if connection.topic in streams:
                rows.setdefault(streams[connection.topic], []).append((stamp, zlib.crc32(data)))
    return {name: np.array(values, np.int64) for name, values in rows.items()}


def pace(soak: Soak) -> dict[str, float]:
    """Return how the images came: wall time [s] between them and after their instant, and lag.

    ``lag`` is simulation time [s] from an image's stamp to the newest clock when it arrived.
    """
    images = soak.heard['camera/front/image_raw']
    arrivals = np.concatenate([soak.heard[name][:, :2] for name in soak.heard if is_image(name)])
    clock = soak.heard['/clock']
    # The clock of an instant is published before its images are taken.
    instants = dict(zip(clock[::-1, 0].tolist(), clock[::-1, 1].tolist()))
    gaps = np.diff(images[:, 1]) / 1e9
    delays = [(at - instants[stamp]) / 1e9 for stamp, at in arrivals.tolist() if stamp in instants]
    latest = clock[np.maximum(np.searchsorted(clock[:, 1], arrivals[:, 1]) - 1, 0), 0]
    span = (images[-1, 1] - images[0, 1]) / 1e9
    second = span / ((images[-1, 0] - images[0, 0]) / 1e9)
    return {
        'wall_s_per_simulated_s': second,
        'share_of_nominal_rate': 1.0 / (second * soak.rtf),
        'gap_median_s': float(np.median(gaps)),
        'gap_max_s': float(gaps.max()),
        'delay_median_s': statistics.median(delays),
        'delay_max_s': max(delays),
        'lag_max_s': float((latest - arrivals[:, 0]).max() / 1e9),
    }


def usage(soak: Soak) -> dict[str, dict[str, float]]:
    """Return each process's memory [MB], its growth after a tenth of the run, and its cores."""
    found = {}
    for name, rows in soak.usage.items():
        warm, last = rows[len(rows) // 10], rows[-1]
        seconds = max(last[0] - warm[0], 1e-9)
        found[name] = {
            'start_mb': warm[1],
            'end_mb': last[1],
            'growth_mb': last[1] - warm[1],
            'cores': (last[2] - warm[2]) / seconds,
        }
    return found


def figures(soak: Soak) -> dict[str, Any]:
    """Return everything measured, as plain data."""
    lines = compare(soak)
    return {
        'minutes': soak.minutes,
        'record': soak.record,
        'rtf': soak.rtf,
        'load_mean': statistics.fmean(soak.load),
        'load_max': max(soak.load),
        'instants': len(due_stamps(soak)['camera/front/image_raw']),
        'incomplete_instants': incomplete_instants(soak),
        'lost': sum(line.lost for line in lines),
        'extra': sum(line.extra for line in lines),
        'differing': sum(line.differing for line in lines),
        'pace': pace(soak),
        'processes': usage(soak),
        'bag_mb': soak.bag_mb,
        'streams': [{**vars(line), 'lost': line.lost} for line in lines],
    }


def is_good(soak: Soak) -> bool:
    """Whether nothing was lost, incomplete, surplus or different, nor a period late by the clock."""
    complete = not incomplete_instants(soak) and all(line.good for line in compare(soak))
    return complete and pace(soak)['lag_max_s'] < 1.0


def show(soak: Soak, console: Console) -> None:
    """Print what was measured."""
    streams = Table(title='messages by stream')
    streams.add_column('stream', no_wrap=True)
    for heading in ('due', 'heard', 'bag', 'lost', 'off', 'other'):
        streams.add_column(heading, justify='right', no_wrap=True)
    for line in compare(soak):
        cells = (line.due, line.heard, line.kept, line.lost, line.extra, line.differing)
        style = '' if line.good else 'bold red'
        streams.add_row(line.name, *('' if c < 0 else f'{c:,}' for c in cells), style=style)
    console.print(streams, crop=False)
    processes = Table('process', title='memory after a tenth of the run, and processor')
    for heading in ('start MB', 'end MB', 'growth MB', 'cores'):
        processes.add_column(heading, justify='right')
    for name, row in usage(soak).items():
        processes.add_row(
            name,
            f'{row["start_mb"]:.1f}',
            f'{row["end_mb"]:.1f}',
            f'{row["growth_mb"]:+.1f}',
            f'{row["cores"]:.2f}',
        )
    console.print(processes)
    report, timing = figures(soak), pace(soak)
    console.print(
        f'{soak.minutes:g} min of simulation at rtf {soak.rtf:g}, record:={soak.record}, '
        f'{report["instants"]} instants of 12 images, {report["incomplete_instants"]} incomplete; '
        f'bag {soak.bag_mb:.0f} MB\n'
        f'a simulated second took {timing["wall_s_per_simulated_s"]:.3f} s, '
        f'{timing["share_of_nominal_rate"]:.0%} of the nominal rate '
        f'(images {timing["gap_median_s"]:.2f} s apart, at most {timing["gap_max_s"]:.2f} s)\n'
        f'an image was heard {timing["delay_median_s"]:.2f} s after its instant, at most '
        f'{timing["delay_max_s"]:.2f} s; the clock was then at most {timing["lag_max_s"]:.2f} s on\n'
        f'load {report["load_mean"]:.1f} on average, at most {report["load_max"]:.1f}\n'
        f'lost {report["lost"]}, off stamp {report["extra"]}, differing {report["differing"]}',
        highlight=False,
    )
