"""A Gazebo server in this process, stepped by hand: time stands still between two calls.

Thrust acts on the very step that it belongs to and an image shows the very step that it is asked
for; a server of its own could be reached only through messages, whose delay is not that of the
simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
import importlib
import importlib.util
import os
from pathlib import Path
import signal
import tempfile
import threading
import time
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_core.world.world import world_search_path
from oceangym_gazebo.hosted.world import hosted_world, VEHICLE_NAME
from oceangym_gazebo.session.instants import Instants

STEP_S = 0.01
_RESOURCES = 'GZ_SIM_RESOURCE_PATH'
# Renderer and sensors are made during the first steps, on a processor in several seconds.
_CAPTURE_DEADLINE_S = 120.0
_CAPTURE_PATIENCE_S = 2.0
_PARKED = Pose((0.0, 0.0, -5.0))
_BRAKE_STEPS = 4
_MODULES = {
    'sim': 'gz.sim8',
    'math': 'gz.math7',
    'transport': 'gz.transport13',
}
_MESSAGES = {'Image': 'image', 'PointCloudPacked': 'pointcloud_packed'}


@dataclass(frozen=True, kw_only=True)
class Bindings:
    """The Python modules of Gazebo Harmonic."""

    sim: ModuleType
    math: ModuleType
    transport: ModuleType

    @classmethod
    def load(cls) -> Bindings:
        """Import them.

        Raises:
            OceanGymError: One is not installed.
        """
        try:
            found = {role: importlib.import_module(name) for role, name in _MODULES.items()}
        except ImportError as error:
            raise OceanGymError(_modules_missing(str(error))) from error
        return cls(**found)


def check_bindings(*, rendered: bool) -> None:
    """Check that Gazebo's Python modules can be found, without loading them.

    Args:
        rendered: Whether cameras and lidars are wanted, which come as Gazebo messages.

    Raises:
        OceanGymError: With what to install.
    """
    missing = [name for name in _MODULES.values() if not _is_found(name)]
    if missing:
        raise OceanGymError(_modules_missing(f'{", ".join(missing)} not found'))
    if rendered:
        for name in _MESSAGES:
            message_type(name)


def _is_found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def _modules_missing(problem: str) -> str:
    source = (
        ''
        if os.environ.get('ROS_DISTRO')
        else ' ROS 2 is not sourced in this shell: if it is installed, source it first, e.g. '
        '`. /opt/ros/jazzy/setup.sh`.'
    )
    return (
        f"backend gazebo needs Gazebo Harmonic's Python modules "
        f'({", ".join(_MODULES.values())}): {problem}.{source} Install ros-jazzy-ros-gz '
        '(gz_sim_vendor 0.0.13 or newer brings them), or python3-gz-sim8 and '
        'python3-gz-transport13 from packages.osrfoundation.org; else use backend:=embedded.'
    )


def message_type(name: str) -> Any:
    """Return the class of one of the Gazebo messages in use.

    Raises:
        OceanGymError: The Python module of Gazebo's messages is not installed.
    """
    try:
        return getattr(importlib.import_module(f'gz.msgs10.{_MESSAGES[name]}_pb2'), name)
    except ImportError as error:
        raise OceanGymError(
            f'Gazebo message {name} is not there: {error}. Install ros-jazzy-gz-msgs-vendor 0.0.8 '
            'or newer, or python3-gz-msgs10.'
        ) from error


@dataclass(frozen=True, kw_only=True)
class BodyState:
    """base_link: pose in map, velocity (6,) over ground in base_link [m/s], [rad/s]."""

    pose: Pose
    velocity: Array


# Rotation of base_link (3, 3) and velocity (6,) over ground, in base_link -> wrench (6,) on it.
Flow = Callable[[Array, Array], Array]


class GazeboServer:
    """One vehicle in one world, in Gazebo."""

    def __init__(
        self, *, world: Path, vehicle: Path, step: float = STEP_S, rendered: bool = True
    ) -> None:
        """Load a world with a vehicle.

        Args:
            world: World file.
            vehicle: Model file.
            step: Of the physics [s].
            rendered: Whether cameras and lidars are wanted.

        Raises:
            OceanGymError: Gazebo is not installed, or it does not take the files.
        """
        # Read when the modules are loaded. Servers side by side must not hear each other; who wants
        # to attach Gazebo's own window names the partition.
        os.environ.setdefault('GZ_PARTITION', f'oceangym_{os.getpid()}')
        os.environ.setdefault('GZ_IP', '127.0.0.1')
        # With a display Gazebo renders through its X server, which may be another machine's (ssh -X)
        # or one that is not there; without one, through EGL on this machine's own device.
        os.environ.pop('DISPLAY', None)
        self._gz = Bindings.load()
        self.step = step
        places = (*world_search_path(world), vehicle.parent.parent)
        os.environ[_RESOURCES] = os.pathsep.join(dict.fromkeys(str(p.resolve()) for p in places))
        scene = hosted_world(
            world=world, vehicle=vehicle, start=_PARKED, step=step, rendered=rendered
        )
        # Read whole while the server is made: nothing is left to clean up after a kill later on.
        with tempfile.TemporaryDirectory(prefix='oceangym_gazebo_') as folder:
            path = Path(folder) / 'hosted.sdf'
            ElementTree.ElementTree(scene).write(path, encoding='utf-8', xml_declaration=True)
            with _own_signal_handlers():
                self._fixture = self._gz.sim.TestFixture(str(path))
                self._fixture.on_pre_update(self._before)
                self._fixture.on_post_update(self._after)
                self._fixture.finalize()
                self._server = self._fixture.server()
        if not self._server.has_entity(VEHICLE_NAME, 0):
            raise OceanGymError(
                f'Gazebo did not take {world} with {vehicle}; its own messages stand above'
            )
        self._node = self._gz.transport.Node()
        self._model: Any = None
        self._link: Any = None
        self._placing: Any = None
        self._wrenches: Array = np.zeros((0, 6))
        self._flow: Flow | None = None
        self._done = 0
        self._state: BodyState | None = None
        self._fault: BaseException | None = None

    @property
    def state(self) -> BodyState:
        """Where the vehicle is after the last step.

        Raises:
            OceanGymError: Before the first step.
        """
        if self._state is None:
            raise OceanGymError('the Gazebo server has not taken a step yet')
        return self._state

    def place(self, pose: Pose, mass: Array) -> None:
        """Put the vehicle at rest at a pose in map.

        A body that was once given a velocity keeps it for good, and a rewound server forgets who
        steps it; so the vehicle is stopped by the impulse that takes its momentum away.

        Args:
            pose: base_link in map.
            mass: (6, 6) of the vehicle, added mass included.
        """
        if self._state is None:
            self.advance(np.zeros((1, 6)))
        x, y, z, w = pose.quaternion
        self._placing = self._gz.math.Pose3d(
            self._gz.math.Vector3d(*pose.position), self._gz.math.Quaterniond(w, x, y, z)
        )
        self.advance(np.zeros((1, 6)))
        for _ in range(_BRAKE_STEPS):
            self.advance(-(mass @ self.state.velocity)[None, :] / self.step)

    def advance(self, wrenches: Array, flow: Flow | None = None) -> BodyState:
        """Take a step for each wrench (n, 6) on base_link, in its axes [N], [N m].

        Args:
            wrenches: What acts during each step.
            flow: Returns what acts beside it, for the state at the beginning of each step.

        Raises:
            OceanGymError: The server has stopped.
        """
        self._wrenches, self._done = np.asarray(wrenches, dtype=float), 0
        self._flow = flow
        self._run(len(self._wrenches))
        if self._done < len(self._wrenches):
            raise OceanGymError('the Gazebo server has stopped')
        return self.state

    def _run(self, steps: int) -> None:
        ran = self._server.run(True, steps, False)
        if self._fault is not None:
            raise OceanGymError(f'Gazebo: {self._fault}') from self._fault
        if not ran:
            raise OceanGymError('the Gazebo server has stopped')

    def capture(self, topics: Mapping[str, Any], wrench: Array) -> dict[str, Any]:
        """Return a message of every topic, all of one step, which is taken for it.

        Args:
            topics: Topic -> message class; rendered sensors only.
            wrench: (6,) On base_link during the step.

        Raises:
            OceanGymError: Some topic stays silent.
        """
        inbox = _Inbox(topics)
        for topic, kind in topics.items():
            self._node.subscribe(kind, topic, partial(inbox.put, topic))
        try:
            deadline = time.monotonic() + _CAPTURE_DEADLINE_S
            while time.monotonic() < deadline:
                self.advance(np.asarray(wrench)[None, :])
                whole = inbox.wait(_CAPTURE_PATIENCE_S)
                if whole is not None:
                    return whole
            raise OceanGymError(
                f'Gazebo sent nothing on {", ".join(inbox.silent)} within '
                f'{_CAPTURE_DEADLINE_S:g} s. Rendering needs EGL (libegl1, mesa).'
            )
        finally:
            for topic in topics:
                self._node.unsubscribe(topic)

    def close(self) -> None:
        """Let go of the server."""
        self._fixture = self._server = None

    def _before(self, info: Any, ecm: Any) -> None:
        """Apply the wrench of the coming step."""
        try:
            if self._link is None:
                self._find(ecm)
            if self._placing is not None:
                self._model.set_world_pose_cmd(ecm, self._placing)
                self._placing = None
                return
            pose = self._link.world_pose(ecm)
            if pose is None or self._done >= len(self._wrenches):
                return
            wrench = self._wrenches[self._done]
            if self._flow is not None:
                state = self._read(ecm)
                wrench = wrench + self._flow(state.pose.rotation, state.velocity)
            fx, fy, fz, tx, ty, tz = wrench.tolist()
            turn, vector = pose.rot().rotate_vector, self._gz.math.Vector3d
            self._link.add_world_wrench(ecm, turn(vector(fx, fy, fz)), turn(vector(tx, ty, tz)))
        except Exception as error:
            # Gazebo swallows what a callback raises.
            self._fault = error

    def _after(self, info: Any, ecm: Any) -> None:
        """Read the state once the last step is done."""
        try:
            self._done += 1
            if self._done < len(self._wrenches):
                return
            self._state = self._read(ecm)
        except Exception as error:
            self._fault = error

    def _read(self, ecm: Any) -> BodyState:
        pose, linear, angular = (
            self._link.world_pose(ecm),
            self._link.world_linear_velocity(ecm),
            self._link.world_angular_velocity(ecm),
        )
        turn = pose.rot()
        velocity = [0.0] * 6
        if linear is not None and angular is not None:
            back = (turn.rotate_vector_reverse(linear), turn.rotate_vector_reverse(angular))
            velocity = [c for v in back for c in (v.x(), v.y(), v.z())]
        place = pose.pos()
        return BodyState(
            pose=Pose.of(
                (place.x(), place.y(), place.z()), (turn.x(), turn.y(), turn.z(), turn.w())
            ),
            velocity=np.array(velocity),
        )

    def _find(self, ecm: Any) -> None:
        sim = self._gz.sim
        world = sim.World(sim.world_entity(ecm))
        self._model = sim.Model(world.model_by_name(ecm, VEHICLE_NAME))
        self._link = sim.Link(self._model.canonical_link(ecm))
        self._link.enable_velocity_checks(ecm, True)


class _Inbox:
    """Collects the messages of one step; they come in Gazebo's own threads."""

    def __init__(self, topics: Mapping[str, Any]) -> None:
        self._instants: Instants[Any] = Instants(topics)
        self._whole: dict[str, Any] | None = None
        self._silent = set(topics)
        self._arrived = threading.Condition()

    @property
    def silent(self) -> list[str]:
        """Topics that never sent anything."""
        with self._arrived:
            return sorted(self._silent) or ['the same step for all topics']

    def put(self, topic: str, message: Any) -> None:
        stamp = message.header.stamp
        with self._arrived:
            self._silent.discard(topic)
            whole = self._instants.add(stamp.sec * 1_000_000_000 + stamp.nsec, topic, message)
            if whole is not None:
                self._whole = whole
                self._arrived.notify_all()

    def wait(self, seconds: float) -> dict[str, Any] | None:
        """Return the messages of a step once they are all there; None if that takes too long."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._whole is not None, timeout=seconds)
            return self._whole


class _own_signal_handlers:
    """Keeps this process's signal handlers: a Gazebo server installs its own."""

    def __enter__(self) -> None:
        self._kept: dict[signal.Signals, Callable[..., Any] | int | None] = {
            number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
        }

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._kept.items():
            if handler is not None:
                signal.signal(number, handler)
