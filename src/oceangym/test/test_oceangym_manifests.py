"""What the packages import from elsewhere stands in their manifests, by the names that rosdep knows."""

from __future__ import annotations

from pathlib import Path
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from oceangym_setup.dependency_lint import imports, is_ros, MAY_IMPORT

SOURCES = Path(__file__).parents[2]

SCRIPTS = {path.stem for path in (SOURCES.parent / 'scripts').iterdir()}
# Keys of rosdep's python.yaml, each looked up there.
ROSDEP_KEYS = {
    'cv2': 'python3-opencv',
    'hypothesis': 'python3-hypothesis',
    'jinja2': 'python3-jinja2',
    'markupsafe': 'python3-jinja2',
    'matplotlib': 'python3-matplotlib',
    'numba': 'python3-numba',
    'numpy': 'python3-numpy',
    'PIL': 'python3-pil',
    'google': 'python3-protobuf',  # what gz.msgs10 is made of
    'gz': 'gz_sim_vendor',  # a package of ROS, which brings Gazebo's Python modules
    'pydantic': 'python3-pydantic',
    'pytest': 'python3-pytest',
    'rich': 'python3-rich',
    'scipy': 'python3-scipy',
    'selenium': 'python3-selenium',
    'shapely': 'python3-shapely',
    'yaml': 'python3-yaml',
}
# rosdep knows none of these: the set-up installs them from requirements/.
WITHOUT_KEY = {
    'drjit', 'httpx2', 'json_repair', 'mapbox_earcut', 'mcap', 'mcap_ros2', 'mitsuba', 'openai',
    'pydantic_core', 'pymavlink', 'ray', 'rosbags', 'trimesh',
}  # fmt: skip


def third_party(path):
    for line, name in imports(path.read_text(encoding='utf-8')):
        top = name.split('.')[0]
        ours = top in MAY_IMPORT or top in ('oceangym_msgs', 'conftest') or top in SCRIPTS
        if not ours and not is_ros(top) and top not in sys.stdlib_module_names:
            yield line, top


def keys(manifest, *tags):
    return {e.text for e in ElementTree.parse(manifest).getroot() if e.tag in tags}


@pytest.mark.parametrize('package', sorted(MAY_IMPORT))
def test_what_the_code_imports_is_declared(package):
    home = SOURCES / package
    run = keys(home / 'package.xml', 'depend', 'exec_depend')
    known = {'': run, 'test': run | keys(home / 'package.xml', 'test_depend')}
    missing = {
        f'{path.relative_to(home)}:{line}: {ROSDEP_KEYS.get(name, name)}'
        for folder, kind in ((package, ''), ('test', 'test'), ('test_ros', 'test'))
        for path in (home / folder).rglob('*.py')
        for line, name in third_party(path)
        if name not in WITHOUT_KEY and ROSDEP_KEYS.get(name) not in known[kind]
    }
    assert missing == set()


@pytest.mark.parametrize('package', ['oceangym_msgs', *sorted(MAY_IMPORT)])
def test_nothing_is_declared_twice(package):
    root = ElementTree.parse(SOURCES / package / 'package.xml').getroot()
    declared = [(e.tag, e.text) for e in root if e.tag.endswith('depend')]
    assert len(declared) == len(set(declared))
    runs = keys(SOURCES / package / 'package.xml', 'depend', 'exec_depend')
    assert not runs & keys(SOURCES / package / 'package.xml', 'test_depend')


@pytest.mark.parametrize('package', sorted(MAY_IMPORT))
def test_every_python_key_is_one_that_rosdep_knows(package):
    declared = keys(SOURCES / package / 'package.xml', 'depend', 'exec_depend', 'test_depend')
    assert {key for key in declared if key.startswith('python3-')} <= set(ROSDEP_KEYS.values())


def test_gazebo_finds_models_and_worlds_once_the_workspace_is_sourced():
    home = SOURCES / 'oceangym'
    cmake = (home / 'CMakeLists.txt').read_text(encoding='utf-8')
    for ending in ('dsv', 'sh'):
        assert f'hooks/${{PROJECT_NAME}}.{ending}.in' in cmake
        hook = (home / 'hooks' / f'oceangym.{ending}.in').read_text(encoding='utf-8')
        for folder in ('models', 'worlds'):
            (line,) = (line for line in hook.splitlines() if line.rstrip('"').endswith(folder))
            assert 'GZ_SIM_RESOURCE_PATH' in line and f'share/@PROJECT_NAME@/{folder}' in line
