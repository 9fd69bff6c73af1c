"""Docker files and workflow, as far as they can be checked without Docker: shape, pins, names."""

from __future__ import annotations

from pathlib import Path
import re
import shutil
import subprocess

import pytest
import yaml

from oceangym.launches import launch_named

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / 'docker' / 'Dockerfile'
TEXT = DOCKERFILE.read_text(encoding='utf-8')

# Looked up in jazzy/distribution.yaml of the rosdistro of August 2026.
ROS_PACKAGES = {
    'ros-jazzy-ament-cmake-pytest',
    'ros-jazzy-foxglove-bridge',
    'ros-jazzy-gz-msgs-vendor',
    'ros-jazzy-gz-sim-vendor',
    'ros-jazzy-gz-transport-vendor',
    'ros-jazzy-launch-testing-ros',
    'ros-jazzy-marine-acoustic-msgs',
    'ros-jazzy-rmw-fastrtps-cpp',
    'ros-jazzy-ros-gz-bridge',
    'ros-jazzy-ros-gz-sim',
    'ros-jazzy-ros2launch',
    'ros-jazzy-rosbag2-py',
    'ros-jazzy-rosbag2-storage-mcap',
    'ros-jazzy-tf2-msgs',
}
UBUNTU_PACKAGES = {
    'build-essential', 'git', 'libegl1', 'libgl1-mesa-dri', 'libllvm19',
    'python3-colcon-common-extensions', 'python3-dev', 'python3-protobuf', 'python3-venv',
}  # fmt: skip


def load(name):
    return yaml.safe_load((ROOT / name).read_text(encoding='utf-8'))


def stages():
    parts = re.split(r'^FROM (\S+) AS (\w+)$', TEXT, flags=re.MULTILINE)
    return {name: (base, body) for base, name, body in zip(parts[1::3], parts[2::3], parts[3::3])}


def test_the_three_targets_run_as_a_user_without_rights():
    assert set(stages()) == {'base', 'ci', 'sim', 'vehicle'}
    for name in ('ci', 'sim', 'vehicle'):
        base, body = stages()[name]
        assert base == 'base'
        assert re.findall(r'^USER (\S+)$', body, flags=re.MULTILINE)[-1] == '1000:1000'
        # Everything after it, the set-up included, is that user's.
        assert 'apt-get' not in body.split('USER 1000:1000')[1]


def test_the_base_is_named_to_the_distribution():
    (base,) = re.findall(r'^ARG BASE=(\S+)$', TEXT, flags=re.MULTILINE)
    assert base == 'ros:jazzy-ros-base-noble'
    assert 'latest' not in TEXT


def test_every_package_is_one_that_exists():
    words = set(re.findall(r'^ {8}([a-z0-9][a-z0-9.+-]+)(?: \\)?$', TEXT, flags=re.MULTILINE))
    assert words == ROS_PACKAGES | UBUNTU_PACKAGES


@pytest.mark.skipif(shutil.which('hadolint') is None, reason='hadolint is not installed')
def test_hadolint_has_nothing_to_say():
    done = subprocess.run(
        ['hadolint', str(DOCKERFILE)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, '')


def test_compose_gives_the_images_shared_memory_and_listens_on_this_host_only():
    services = load('docker/compose.yaml')['services']
    assert set(services) == {'simulation', 'agent', 'foxglove'}
    size = services['simulation']['shm_size']
    assert size.endswith('mb') and int(size[:-2]) >= 128
    for port in services['simulation']['ports']:
        assert port.startswith('127.0.0.1:')
    for name in ('agent', 'foxglove'):
        assert services[name]['network_mode'] == 'service:simulation'
        assert services[name]['ipc'] == 'service:simulation'
    assert services['simulation']['build']['target'] in stages()


@pytest.mark.parametrize('name', ['simulation', 'agent'])
def test_compose_launches_with_arguments_that_the_launch_files_take(name):
    command = load('docker/compose.yaml')['services'][name]['command']
    assert command[:3] == ['ros2', 'launch', 'oceangym']
    launch = launch_named(command[3].removesuffix('.launch.py'))
    launch.check_names(word.split(':=')[0] for word in command[4:])


@pytest.mark.parametrize('target', ['sim', 'vehicle'])
def test_images_start_with_a_launch_file_that_is_there(target):
    (command,) = re.findall(r'^CMD \[(.*)\]$', stages()[target][1], flags=re.MULTILINE)
    words = [word.strip('" ') for word in command.split(',')]
    launch = launch_named(words[3].removesuffix('.launch.py'))
    launch.check_names(word.split(':=')[0] for word in words[4:] if ':=' in word)


def test_the_workflow_builds_and_tests_on_jazzy_and_on_wheels():
    workflow = load('.github/workflows/ci.yaml')
    # YAML 1.1 reads the key "on" as true.
    assert set(workflow[True]) == {'push', 'pull_request'}
    assert workflow['permissions'] == {'contents': 'read'}
    jobs = workflow['jobs']
    assert set(jobs) == {'wheels', 'jazzy', 'docs', 'docker'}
    for job in jobs.values():
        assert job['timeout-minutes'] <= 60
        for step in job['steps']:
            assert ('uses' in step) != ('run' in step)
            assert re.fullmatch(r'[\w-]+/[\w-]+@v\d+', step.get('uses', 'a/b@v1'))
    assert jobs['wheels']['strategy']['matrix']['python'] == ['3.10', '3.11', '3.12', '3.13']
    commands = ' '.join(step.get('run', '') for step in jobs['jazzy']['steps'])
    for words in ('rosdep install', 'colcon build', 'colcon test', 'colcon test-result'):
        assert words in commands
    assert jobs['docker']['strategy']['matrix']['target'] == ['ci', 'sim', 'vehicle']
    assert any(step.get('run') == './.ci/run' for step in jobs['wheels']['steps'])
    assert jobs['docs']['steps'][-1]['run'] == './scripts/oceangym docs'
