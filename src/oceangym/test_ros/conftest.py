"""A small world on disk and private ROS domains for the tests with nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
import math
import os
from pathlib import Path
import signal
import subprocess
import time
from typing import Any

import numpy as np
import pytest
import yaml

from oceangym.domain import DomainLease
from oceangym.processes import parameter_file, process_environment, process_specs, ProcessSpec
from oceangym.supervisor import command_line
from oceangym_core.config.options import RunOptions

ANCHORS = {
    'oil_pipeline_1': (160.0, -114.0, -68.0),
    'oil_pipeline_2': (190.0, -134.0, -68.0),
    'oil_pipeline_3': (144.0, -160.0, -68.0),
}
LABEL = 'OIL PIPELINE'
# A machine that does something else besides starts a node in a minute.
PATIENCE_S = 180.0
SEABED_Z = -70.0

_NAMESPACE = 'xmlns:oceangym="urn:oceangym:sdf:1"'
_SEABED = f"""<sdf version="1.11" {_NAMESPACE}><model name="seabed"><static>true</static>
<oceangym:heightfield><uri>model://seabed/heightfield.npy</uri><origin>-300 -500</origin>
<spacing>50.0</spacing></oceangym:heightfield>
<link name="link"><visual name="v"><pose>175 -75 -0.5 0 0 0</pose>
<geometry><box><size>1100 900 1</size></box></geometry>
<material><diffuse>0.7 0.6 0.5 1</diffuse></material>
<oceangym:acoustic material="sand" strength_db="-22"/></visual></link></model></sdf>"""
_PIPE = f"""<sdf version="1.11" {_NAMESPACE}><model name="pipe"><static>true</static>
<oceangym:prop class="pipeline" label="{LABEL}" structure="true" material="steel"
 colour="orange" size="6 x 2 x 2 m"/>
<link name="link"><visual name="v"><geometry><box><size>6 2 2</size></box></geometry>
<material><diffuse>0.9 0.4 0.1 1</diffuse></material>
<oceangym:acoustic material="steel" strength_db="-8"/></visual>
<collision name="c"><geometry><box><size>6 2 2</size></box></geometry></collision>
</link></model></sdf>"""


def write_small_world(root: Path) -> Path:
    """Write a flat seabed with three boxes near point1 as the pipe's points; return the SDF file."""
    models = root / 'models'
    for name, text in (('seabed', _SEABED), ('pipe', _PIPE)):
        (models / name).mkdir(parents=True)
        (models / name / 'model.sdf').write_text(text)
    np.save(models / 'seabed' / 'heightfield.npy', np.zeros((20, 24), np.float32))
    parts = [
        f'<include><uri>model://seabed</uri><name>seabed</name><pose>0 0 {SEABED_Z} 0 0 0</pose></include>'
    ]
    for name, (x, y, z) in ANCHORS.items():
        parts.append(
            f'<oceangym:anchor name="{name}" label="{LABEL}" instances="{name}">'
            f'<point>{x} {y} {z}</point></oceangym:anchor>'
            f'<include><uri>model://pipe</uri><name>{name}</name><pose>{x} {y} {z} 0 0 0</pose></include>'
        )
    path = root / 'small.sdf'
    path.write_text(
        f'<sdf version="1.11" {_NAMESPACE}><world name="small">'
        '<oceangym:bounds><min>-200 -400 -100</min><max>650 250 5</max></oceangym:bounds>'
        f'{"".join(parts)}</world></sdf>'
    )
    return path


@pytest.fixture(scope='session')
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_world(tmp_path_factory.mktemp('small_world'))


@pytest.fixture
def anchors() -> dict[str, tuple[float, float, float]]:
    """The targets of the small world."""
    return ANCHORS


@pytest.fixture
def domain_id(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain that no other test uses."""
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    with DomainLease() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        yield domain


def core_share() -> float:
    """Return how much of a core each process that wants to run gets on this machine."""
    return min(1.0, (os.cpu_count() or 1) / max(os.getloadavg()[0], 1.0))


class Probe:
    """A node of its own context that hears the contract and waits for conditions, not for time."""

    def __init__(self, name: str = 'probe', namespace: str = 'auv') -> None:
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node

        self.context = Context()
        self.context.init()
        self.node = Node(name, namespace=namespace, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.heard: dict[str, list[Any]] = {}

    def listen(self, *names: str, deep: bool = False) -> None:
        """Subscribe to topics of the contract; `deep` misses none."""
        from oceangym_core.contract.topics import stream
        from oceangym_core.nodes.node import message_type
        from oceangym_core.nodes.qos import reader_qos, recorder_qos

        for name in names:
            s = stream(name)
            messages = self.heard.setdefault(name, [])
            qos = (recorder_qos if deep else reader_qos)(s.delivery)
            self.node.create_subscription(message_type(s.type), name, messages.append, qos)

    def until(self, condition: Callable[[], Any], timeout: float = PATIENCE_S) -> Any:
        """Wait for a condition; `timeout` [s] is that of a machine with nothing else to do.

        Where more processes want to run than there are cores, time counts for as much less.
        """
        waited, now = 0.0, time.monotonic()
        while not (value := condition()):
            assert waited < timeout, 'the condition did not come true'
            self.executor.spin_once(timeout_sec=0.05)
            before, now = now, time.monotonic()
            waited += (now - before) * core_share()
        return value

    def done(self, future: Any, timeout: float = PATIENCE_S) -> Any:
        self.until(future.done, timeout)
        return future.result()

    def acquaint(self, server: str) -> None:
        """Wait until a node can answer the clients made so far.

        A server that is seen may not have seen its client yet, and its answer is then lost: asked
        again until an answer comes, it has discovered whatever was made before the asker.
        """
        from rcl_interfaces.srv import ListParameters

        asker = self.node.create_client(ListParameters, f'{server}/list_parameters')
        self.until(asker.service_is_ready)
        answers: list[Any] = []
        asked = -math.inf

        def answered() -> bool:
            nonlocal asked
            if time.monotonic() - asked > 1.0:
                asked = time.monotonic()
                answers.append(asker.call_async(ListParameters.Request()))
            return any(answer.done() for answer in answers)

        self.until(answered)
        self.node.destroy_client(asker)

    def action_client(self, action_type: type, name: str) -> Any:
        """Return a client of an action of the contract that is known to its server."""
        from rclpy.action import ActionClient

        client = ActionClient(self.node, action_type, name)
        self.until(client.server_is_ready)
        self.acquaint(_server_of(name))
        return client

    def call(self, service_type: type, name: str, request: Any) -> Any:
        client = self.node.create_client(service_type, name)
        self.until(client.service_is_ready)
        self.acquaint(_server_of(name))
        response = self.done(client.call_async(request))
        self.node.destroy_client(client)
        return response

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


def _server_of(name: str) -> str:
    return 'task_manager' if name.startswith('task/') else 'simulator'


class Nodes:
    """Processes of nodes, ended with the test."""

    def __init__(self, directory: Path, domain: int) -> None:
        self.directory = directory
        self.environment = process_environment(os.environ, domain_id=domain)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, spec: ProcessSpec, **parameters: Any) -> subprocess.Popen[bytes]:
        spec = replace(spec, parameters={**spec.parameters, **parameters})
        path = self.directory / f'{spec.name}.yaml'
        path.write_text(yaml.safe_dump(parameter_file(spec)))
        with (self.directory / f'{spec.name}.log').open('wb') as log:
            process = subprocess.Popen(
                command_line(spec, path), env=self.environment, stdout=log, stderr=log
            )
        self.running[spec.name] = process
        return process

    def log(self, name: str) -> str:
        return (self.directory / f'{name}.log').read_text()

    def close(self) -> None:
        """End all; what they logged is shown beneath a test that failed."""
        ended = {name: process.poll() for name, process in self.running.items()}
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        for name, process in self.running.items():
            end(process)
            before = 'running' if ended[name] is None else f'ended with {ended[name]}'
            print(f'--- {name}: {before} when the test was over\n{self.log(name)[-3000:]}')


def end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def node_specs(
    options: RunOptions, directory: Path, world: Path, **kwargs: Any
) -> dict[str, ProcessSpec]:
    specs = process_specs(options, run_directory=directory, world=world, **kwargs)
    return {spec.name: spec for spec in specs}


@pytest.fixture(scope='module')
def module_domain() -> Iterator[int]:
    """A ROS domain for all the tests of a module."""
    before = os.environ.pop('ROS_DOMAIN_ID', None)
    with DomainLease() as domain:
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        yield domain
    os.environ.pop('ROS_DOMAIN_ID')
    if before is not None:
        os.environ['ROS_DOMAIN_ID'] = before


@pytest.fixture(scope='module')
def nodes(module_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    running = Nodes(tmp_path_factory.mktemp('nodes'), module_domain)
    yield running
    running.close()


@pytest.fixture
def probe(module_domain: int) -> Iterator[Probe]:
    node = Probe()
    yield node
    node.close()


@pytest.fixture(scope='session')
def make_specs() -> Callable[..., dict[str, ProcessSpec]]:
    return node_specs


@pytest.fixture(scope='session')
def make_probe() -> type[Probe]:
    return Probe


@pytest.fixture(scope='session')
def make_nodes() -> type[Nodes]:
    return Nodes
