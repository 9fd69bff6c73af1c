#!/usr/bin/env python3
"""Watch a realtime run for lost messages: six cameras and six sonars at 1 Hz, a recorder attached.

Run in the project's environment: `python scripts/soak_realtime.py [--minutes 20] [--record light]`.

Simulator and recorder are started from the process specifications, with a subscriber in a process of
its own. The vehicle follows velocities and, once a minute, flies a maneuver. Afterwards every stream is
compared, stamp by stamp, with what the contract's rates ask for: what the subscriber heard, and what is
in the bag, there with the checksums of the subscriber's messages. A simulation that cannot keep up
slows down; it must not drop anything. Exit code 1 if a message is missing, an instant is incomplete, a
stamp is off, or a bag's message differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
import json
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, TwistStamped
import numpy as np
from oceangym_msgs.action import Maneuver
from oceangym_msgs.srv import Reset
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool
import yaml

from bench_sim import machine
from oceangym.domain import DomainLease
from oceangym.processes import (
    parameter_file,
    Part,
    process_environment,
    process_specs,
    ProcessSpec,
)
from oceangym.supervisor import command_line, EXIT_CANCELLED, last_error_lines
from oceangym_core.config.options import RunOptions
from oceangym_core.config.starts import parse_start
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.contract.topics import Delivery, RECORD_READY, stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.node import read_stream
from oceangym_core.nodes.qos import publisher_qos
from oceangym_core.world.world import world_path
from soak_report import figures, is_good, NAMESPACE, read_bag, show, Soak

# An odd length: maneuvers end between the images that are due, and add an instant of their own.
INTERVAL_S = 7.5
MANEUVER_EVERY_S = 60.0
MANEUVERS = (('up', 3.0), ('rotate_left', 90.0), ('down', 3.0), ('hold', None))
COMMAND_EVERY_S = 0.1
SAMPLE_EVERY_S = 5.0
# The first observation compiles kernels.
PATIENCE_S = 300.0
# What is still under way when the episode is over.
QUIET_S = 3.0


class Pilot:
    """Resets the backend, drives the vehicle, and says when the episode is over."""

    def __init__(self, soak: Soak, check: Callable[[], None]) -> None:
        self._soak, self._check = soak, check
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('soak_pilot', namespace=NAMESPACE)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._clock, self._ready = 0.0, False
        # Kept referenced: rclpy drops what nobody holds.
        self._taps = [
            read_stream(self._node, stream('/clock'), self._on_clock),
            read_stream(self._node, RECORD_READY, self._on_ready),
        ]
        self._velocity = self._node.create_publisher(
            TwistStamped, 'cmd_vel', publisher_qos(Delivery.COMMAND)
        )
        self._reset = self._node.create_client(Reset, 'sim/reset')
        self._maneuver = ActionClient(self._node, Maneuver, 'maneuver')

    def _on_clock(self, message: Clock) -> None:
        self._clock = message.clock.sec + message.clock.nanosec * 1e-9

    @property
    def _now(self) -> float:
        """The time of the episode [s]."""
        return self._clock - self._soak.epoch / 1e6

    def _on_ready(self, message: Bool) -> None:
        self._ready = message.data

    def _until(self, condition: Callable[[], Any], what: str, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            self._executor.spin_once(timeout_sec=0.05)
            self._check()
            if time.monotonic() > deadline:
                raise OceanGymError(f'{what} did not come within {patience:.0f} s')

    def begin(self, start: Pose) -> None:
        """Reset the backend to an episode of the soak's length."""
        self._until(lambda: self._ready, 'the recorder', PATIENCE_S)
        self._until(self._reset.service_is_ready, 'sim/reset', PATIENCE_S)
        self._until(self._maneuver.server_is_ready, 'the maneuver action', PATIENCE_S)
        request = Reset.Request(
            start=start, t_max=self._soak.seconds, t_interval=INTERVAL_S, profile='standard'
        )
        answer = self._reset.call_async(request)
        self._until(answer.done, 'observation 0', PATIENCE_S)
        response = answer.result()
        if response.error_code:
            raise OceanGymError(f'the reset was refused: {response.error_msg}')
        self._soak.epoch = _microseconds(response.stamp)

    def fly(self, progress: Callable[[float], None]) -> None:
        """Drive until the episode is over."""
        end = self._soak.seconds
        next_command, next_maneuver, flown = 0.0, MANEUVER_EVERY_S, 0
        while self._now < end:
            self._executor.spin_once(timeout_sec=0.02)
            self._check()
            progress(self._now)
            if self._now >= next_maneuver and self._now + INTERVAL_S < end:
                self._fly_maneuver(*MANEUVERS[flown % len(MANEUVERS)])
                flown += 1
                next_maneuver += MANEUVER_EVERY_S
            elif time.monotonic() >= next_command:
                next_command = time.monotonic() + COMMAND_EVERY_S
                self._velocity.publish(self._circle())
        quiet = time.monotonic() + QUIET_S
        while time.monotonic() < quiet:
            self._executor.spin_once(timeout_sec=0.1)

    def _circle(self) -> TwistStamped:
        command = TwistStamped()
        command.header.stamp.sec = int(self._clock)
        command.twist.linear.x, command.twist.angular.z = 0.4, 0.1
        return command

    def _fly_maneuver(self, action: str, magnitude: float | None) -> None:
        goal = Maneuver.Goal(action=action, magnitude=math.nan if magnitude is None else magnitude)
        patience = PATIENCE_S / min(self._soak.rtf, 1.0)
        sent = self._maneuver.send_goal_async(goal)
        self._until(sent.done, 'the answer to a maneuver', patience)
        landed = sent.result().get_result_async()
        self._until(landed.done, 'the end of a maneuver', patience)
        result = landed.result().result
        if result.error_code:
            raise OceanGymError(f'maneuver {action}: {result.error_msg}')
        self._soak.ends.append(_microseconds(result.t_end))

    def close(self) -> None:
        """Leave."""
        self._executor.shutdown(timeout_sec=1.0)
        self._node.destroy_node()
        rclpy.try_shutdown()


def _microseconds(stamp: Time) -> int:
    return int(stamp.sec) * 10**6 + round(stamp.nanosec / 1000)


class Processes:
    """The processes of a soak: started, sampled, ended."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory, self._environment = directory, dict(environment)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._next_sample = 0.0

    def start(self, spec: ProcessSpec) -> None:
        """Start a node from its specification."""
        path = self._directory / f'{spec.name}.params.yaml'
        path.write_text(yaml.safe_dump(parameter_file(spec)), encoding='utf-8')
        with self._log(spec.name).open('wb') as log:
            self.running[spec.name] = subprocess.Popen(
                command_line(spec, path), env=self._environment, stdout=log, stderr=log
            )

    def start_subscriber(self, output: Path) -> None:
        """Start the subscriber and wait until it has found every stream."""
        script = Path(__file__).with_name('soak_listener.py')
        words = [
            sys.executable,
            str(script),
            str(output),
            '--ros-args',
            '-r',
            f'__ns:=/{NAMESPACE}',
        ]
        with self._log('subscriber').open('wb') as log:
            process = subprocess.Popen(
                words, env=self._environment, stdout=subprocess.PIPE, stderr=log
            )
        self.running['subscriber'] = process
        assert process.stdout is not None
        if process.stdout.readline().strip() != b'ready':
            self.check()
            raise OceanGymError('the subscriber ended before it was ready')

    def _log(self, name: str) -> Path:
        return self._directory / f'{name}.log'

    def check(self) -> None:
        """Notice a process that has ended too early."""
        for name, process in self.running.items():
            if process.poll() is not None:
                words = '\n'.join(last_error_lines(self._log(name)))
                raise OceanGymError(f'{name} ended with {process.returncode}:\n{words}')

    def sample(self, soak: Soak) -> None:
        """Note memory, processor time and load from time to time (Linux)."""
        now = time.monotonic()
        if now < self._next_sample:
            return
        self._next_sample = now + SAMPLE_EVERY_S
        soak.load.append(os.getloadavg()[0])
        for name, process in self.running.items():
            memory = int(Path(f'/proc/{process.pid}/statm').read_text().split()[1])
            times = Path(f'/proc/{process.pid}/stat').read_text().rsplit(')', 1)[1].split()
            soak.usage.setdefault(name, []).append(
                (
                    now,
                    memory * os.sysconf('SC_PAGE_SIZE') / 1e6,
                    (int(times[11]) + int(times[12])) / os.sysconf('SC_CLK_TCK'),
                )
            )

    def end(self, *names: str) -> None:
        """Interrupt processes and wait; kill those that do not end."""
        for name in names:
            process = self.running.pop(name, None)
            if process is None:
                continue
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run(
    soak: Soak, options: RunOptions, directory: Path, console: Console, camera_size: int
) -> None:
    """Fly, record, and read back."""
    world = world_path(TaskRegistry.load().get(options.task).world_source)
    specs = process_specs(
        options, run_directory=directory, world=world, parts=(Part.BACKEND, Part.RECORDER)
    )
    with DomainLease() as domain:
        environment = process_environment(os.environ, domain_id=domain)
        os.environ.update(environment)
        processes = Processes(directory, environment)
        try:
            for spec in specs:
                if spec.executable == 'sim_node':
                    spec = replace(
                        spec, parameters={**spec.parameters, 'camera_size': camera_size}
                    )
                processes.start(spec)
            processes.start_subscriber(directory / 'heard.npz')
            with piloting(soak, processes.check) as pilot:
                pilot.begin(_start(options.start))
                pilot.fly(_teller(soak, processes, console))
        finally:
            # The recorder waits for quiet, then writes its index, while the others are still there.
            processes.end('recorder', 'subscriber', 'simulator')
    with np.load(directory / 'heard.npz') as arrays:
        soak.heard = dict(arrays)
    bag = directory / 'bag'
    soak.bag_mb = sum(path.stat().st_size for path in bag.iterdir()) / 1e6
    soak.kept = read_bag(bag, soak.record)


@contextmanager
def piloting(soak: Soak, check: Callable[[], None]) -> Iterator[Pilot]:
    """Give a pilot, and let it leave."""
    pilot = Pilot(soak, check)
    try:
        yield pilot
    finally:
        pilot.close()


def _start(text: str) -> Pose:
    _, place = parse_start(text)
    if place is None:
        raise OceanGymError(f'--start {text}: a place is needed: point1, point2 or x,y,z,yaw_deg')
    x, y, z, yaw_deg = place
    half = math.radians(yaw_deg) / 2
    turned = Quaternion(z=math.sin(half), w=math.cos(half))
    return Pose(position=Point(x=x, y=y, z=z), orientation=turned)


def _teller(soak: Soak, processes: Processes, console: Console) -> Callable[[float], None]:
    """Return what notes usage and says once a minute how far the soak has come."""
    said = 0.0

    def tell(now: float) -> None:
        nonlocal said
        processes.sample(soak)
        if now >= said + 60.0:
            said = 60.0 * (now // 60.0)
            memory = ', '.join(f'{name} {rows[-1][1]:.0f} MB' for name, rows in soak.usage.items())
            console.print(f'{said / 60:.0f} min: load {soak.load[-1]:.1f}, {memory}')

    return tell


def main() -> int:
    """Run one soak and print its table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=20.0, help='of simulation time')
    parser.add_argument('--record', default='light', choices=('light', 'full'))
    parser.add_argument('--rtf', type=float, default=1.0, help='speed over wall time')
    parser.add_argument('--water', default='shallow', help='as for a run')
    parser.add_argument('--start', default='point1', help='as for a run, a place')
    parser.add_argument('--camera-size', type=int, default=0, help="0: the vehicle's own [px]")
    parser.add_argument('--keep', type=Path, help='directory that bag and logs are kept in')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    arguments = parser.parse_args()
    if not 0.2 <= arguments.minutes <= 24 * 60:
        raise OceanGymError(f'--minutes {arguments.minutes}: choose 0.2 .. 1440')
    console = Console(stderr=arguments.json, soft_wrap=True)
    soak = Soak(minutes=arguments.minutes, record=arguments.record, rtf=arguments.rtf)
    console.print(f'{machine()}, load {os.getloadavg()[0]:.1f}', highlight=False)
    options = RunOptions(
        agent='none',
        mode='realtime',
        rtf=soak.rtf,
        sensors='all',
        record=soak.record,
        water=arguments.water,
        start=arguments.start,
    )
    with tempfile.TemporaryDirectory(prefix='oceangym_soak_') as temporary:
        directory = arguments.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        run(soak, options, directory.resolve(), console, arguments.camera_size)
    if arguments.json:
        print(json.dumps({'machine': machine(), **figures(soak)}))
    else:
        show(soak, console)
    return 0 if is_good(soak) else 1


if __name__ == '__main__':
    # A shell starts what it puts into the background deaf to SIGINT; its processes must end all the same.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(EXIT_CANCELLED)
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
