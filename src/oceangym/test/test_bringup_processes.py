"""The running system as data: which processes, with which parameters, ended in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from oceangym.domain import DomainLease, DOMAINS
from oceangym.processes import (
    DISCOVERY_VARIABLE,
    given_words,
    OnExit,
    option_parameters,
    parameter_file,
    process_environment,
    process_specs,
    PROFILES_VARIABLE,
    ros_arguments,
)
from oceangym_core.config.options import ARGUMENTS, parse_ros_arguments, RunOptions
from oceangym_core.errors import OceanGymError

WORLD = Path('/somewhere/ocean.sdf')


def specs_of(**options):
    specs = process_specs(RunOptions(**options), run_directory=Path('/runs/x'), world=WORLD)
    return {spec.name: spec for spec in specs}


def test_a_run_is_simulator_recorder_agent_and_task_manager():
    specs = specs_of()
    assert set(specs) == {'simulator', 'recorder', 'agent', 'task_manager'}
    assert specs['agent'].module == 'oceangym_agent.nodes.agent_node'
    assert specs['task_manager'].parameters['wait_for'] == ['recorder', 'agent']
    assert specs['recorder'].parameters['bag'] == '/runs/x/bag'
    assert {s.namespace for s in specs.values()} == {'auv'}
    # Who runs on simulation time must know it, or its stamps are of another time.
    assert all(s.parameters['use_sim_time'] is True for s in specs.values())


def test_only_the_end_of_the_task_manager_is_the_end_of_the_run():
    specs = specs_of()
    ends = {s.name for s in specs.values() if s.on_exit is OnExit.ENDS_RUN}
    assert ends == {'task_manager'}
    # The recorder is ended while those it listens to are still there.
    ranks = {name: spec.stop_rank for name, spec in specs.items()}
    assert ranks['task_manager'] < ranks['recorder'] < ranks['simulator'] == ranks['agent']


def test_what_is_off_is_not_started_nor_waited_for():
    specs = specs_of(record='false', agent='none')
    assert set(specs) == {'simulator', 'task_manager'}
    # ROS knows no empty list of texts.
    assert specs['task_manager'].parameters['wait_for'] == ['']


def test_frames_lie_in_every_namespace_and_the_clock_in_those_that_are_not_the_default():
    # Relative, the names follow the namespace that the same command line gives.
    frames = {'/tf': 'tf', '/tf_static': 'tf_static'}
    apart = {name: f'/auv1{name}' for name in ('/clock', '/diagnostics')}
    for namespace, expected in (('auv', frames), ('auv1', frames | apart)):
        specs = specs_of(namespace=namespace, rviz=True)
        assert len(specs) == 5
        for spec in specs.values():
            assert spec.namespace == namespace
            assert dict(spec.remappings) == expected
    words = ros_arguments(specs['simulator'], Path('x.yaml'))
    assert '/tf:=tf' in words and '__ns:=/auv1' in words


def test_teleop_reads_the_terminal():
    agent = specs_of(agent='teleop')['agent']
    assert agent.executable == 'teleop_node'
    assert agent.interactive


def test_a_backend_that_is_not_there_is_refused():
    with pytest.raises(
        OceanGymError, match=r'not part of this version\. Allowed: embedded, gazebo'
    ):
        specs_of(backend='vehicle')


def test_gazebo_stands_in_for_the_embedded_simulator_and_changes_nothing_else():
    embedded, gazebo = specs_of(backend='embedded'), specs_of(backend='gazebo')
    assert (gazebo['simulator'].package, gazebo['simulator'].executable) == (
        'oceangym_gazebo',
        'gazebo_node',
    )
    assert [spec.name for spec in gazebo.values()] == [spec.name for spec in embedded.values()]
    for name, spec in gazebo.items():
        changed = {'backend': 'embedded'} if 'backend' in spec.parameters else {}
        assert {**spec.parameters, **changed} == embedded[name].parameters


def test_every_number_parameter_is_a_float_even_if_whole():
    parameters = option_parameters(RunOptions(rtf=2, t_max=60))
    assert isinstance(parameters['rtf'], float)
    assert isinstance(parameters['t_max'], float)
    assert parameters['t_interval'] == 0.0
    assert isinstance(parameters['seed'], int)
    assert set(parameters) == {argument.name for argument in ARGUMENTS}


def test_parameters_survive_the_file():
    spec = specs_of(start='144,-114,-63,-135')['task_manager']
    read = yaml.safe_load(yaml.safe_dump(parameter_file(spec)))
    assert read['/**']['ros__parameters'] == dict(spec.parameters)


def test_the_command_line_names_node_and_namespace():
    words = ros_arguments(specs_of(namespace='fleet/one')['agent'], Path('/p.yaml'))
    assert words[0] == '--ros-args'
    assert '__node:=agent' in words
    assert '__ns:=/fleet/one' in words
    assert words[-2:] == ['--params-file', '/p.yaml']


def test_the_environment_keeps_to_this_host_and_respects_the_callers():
    environment = process_environment({}, domain_id=7)
    assert environment['ROS_DOMAIN_ID'] == '7'
    assert environment[DISCOVERY_VARIABLE] == 'LOCALHOST'
    assert Path(environment[PROFILES_VARIABLE]).is_file()
    own = process_environment({DISCOVERY_VARIABLE: 'SUBNET', PROFILES_VARIABLE: '/mine.xml'})
    assert own[DISCOVERY_VARIABLE] == 'SUBNET'
    assert own[PROFILES_VARIABLE] == '/mine.xml'
    assert 'ROS_DOMAIN_ID' not in own


def test_launch_defaults_are_not_given_so_that_an_alias_chooses_the_water():
    values = {argument.name: argument.default for argument in ARGUMENTS}
    assert given_words(values) == []
    options = parse_ros_arguments(given_words({**values, 'task': 'task9'}))
    assert (options.task, options.water) == ('inspect_pipe', 'deep')


def test_two_runs_do_not_share_a_domain(monkeypatch):
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    with DomainLease() as first, DomainLease() as second:
        assert first in DOMAINS
        assert second in DOMAINS
        assert first != second
    lease = DomainLease()
    lease.close()
    lease.close()


def test_a_given_domain_is_used_and_a_bad_one_refused(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '42')
    with DomainLease() as domain:
        assert domain == 42
    for bad in ('forty', '233', '-1'):
        monkeypatch.setenv('ROS_DOMAIN_ID', bad)
        with pytest.raises(OceanGymError, match=bad):
            DomainLease()
