"""Set-up: what it does twice, what it refuses, and what it tells the user to do."""

from __future__ import annotations

import os
from pathlib import Path
import re
import stat
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from oceangym_setup import (
    build,
    cmake_prefix,
    doctor,
    environment,
    install,
    llvm,
    preflight,
    testing,
    venv,
)
from oceangym_setup.cli import main, VERBS, workspace_here
from oceangym_setup.errors import SetupError
from oceangym_setup.progress import run_logged, Step, telling_lines
from oceangym_setup.workspace import digest, PACKAGES, Workspace

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / 'scripts' / 'oceangym'
EXPORTED_CMAKE = """set(inc "${_IMPORT_PREFIX}/include;/opt/python/cp311-cp311/include/python3.11")
set(np /opt/python/cp312-cp312/lib/python3.12/site-packages/numpy/_core/include)
set(root "/opt/python/cp313-cp313")
set(other "/opt/python3/bin")
"""


@pytest.fixture
def workspace(tmp_path):
    return Workspace(root=tmp_path, native=False)


def entry(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


# --- the entry point ---------------------------------------------------------------------------


def test_misspelt_verb_is_refused_with_the_right_one():
    result = entry('tset')
    assert result.returncode == 1
    assert "unknown verb 'tset'" in result.stderr
    assert "did you mean 'test'" in result.stderr
    assert 'Traceback' not in result.stderr


def test_the_launcher_works_through_links_and_from_a_folder_full_of_module_names(tmp_path):
    for name in ('json', 'signal', 'venv', 'runpy', 'yaml', 'numpy', 'oceangym', 'typing'):
        (tmp_path / f'{name}.py').write_text('raise SystemExit("taken from the current folder")')
    (tmp_path / 'sub').mkdir()
    (tmp_path / 'link').symlink_to(SCRIPT)
    (tmp_path / 'sub' / 'again').symlink_to('../link')
    for command in (['./link'], ['sub/again'], ['sh', str(SCRIPT)]):
        result = subprocess.run(
            [*command, 'list', 'tasks'], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert 'inspect_pipe' in result.stdout


def test_a_copy_or_a_sourced_launcher_says_where_the_right_one_is(tmp_path):
    copy = tmp_path / 'oceangym'
    copy.write_bytes(SCRIPT.read_bytes())
    for command in (['sh', str(copy), 'list'], ['bash', '-c', f'. {copy}; echo alive']):
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert 'is not in a checkout' in result.stderr
    assert 'alive' in result.stdout


def test_a_reader_that_stops_reading_gets_no_traceback():
    result = subprocess.run(
        ['bash', '-c', f'set -o pipefail; "{SCRIPT}" help | true'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ''


def test_no_verb_shows_usage_and_fails():
    result = entry()
    assert result.returncode == 1
    assert all(verb in result.stderr for verb in VERBS)


def test_help_is_data_and_succeeds():
    result = entry('--help')
    assert result.returncode == 0
    assert 'run task:=inspect_pipe' in result.stdout
    assert result.stderr == ''


@pytest.mark.parametrize('verb', ['setup', 'doctor'])
def test_arguments_of_setup_and_doctor_are_checked(verb):
    result = entry(verb, '--claen')
    assert result.returncode == 1
    assert "does not know '--claen'" in result.stderr


def test_without_a_usable_python_the_remedy_is_named(tmp_path):
    programs = tmp_path / 'bin'
    programs.mkdir()
    python = programs / 'python3'
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.1 && exit 0\nexit 1\n')
    python.chmod(python.stat().st_mode | stat.S_IEXEC)
    for tool in ('dirname', 'cat'):
        (programs / tool).symlink_to(f'/usr/bin/{tool}')
    script = tmp_path / 'scripts' / 'oceangym'
    (script.parent / 'oceangym_setup').mkdir(parents=True)
    script.write_bytes(SCRIPT.read_bytes())
    result = subprocess.run(
        ['/bin/sh', str(script), 'list'],
        env={'PATH': str(programs), 'HOME': str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert 'Needed: Python 3.10 to 3.13' in result.stderr
    assert 'found Python 3.8.1' in result.stderr
    assert 'apt-get install' in result.stderr


def test_unknown_kind_of_ros_is_refused():
    with pytest.raises(SetupError, match='OCEANGYM_ROS'):
        workspace_here({'OCEANGYM_ROS': 'docker'})


def test_sourced_ros_is_used_unless_overridden():
    assert workspace_here({'ROS_DISTRO': 'jazzy'}).native
    assert not workspace_here({'ROS_DISTRO': 'jazzy', 'OCEANGYM_ROS': 'wheels'}).native
    assert not workspace_here({}).native


def test_an_interrupt_ends_with_130(monkeypatch, capsys):
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(VERBS, 'setup', interrupt)  # type: ignore[arg-type]
    assert main(['setup']) == 130
    assert 'interrupted' in capsys.readouterr().err


# --- what the machine must have ----------------------------------------------------------------


def test_missing_compiler_is_named_with_its_package(tmp_path):
    with pytest.raises(SetupError) as caught:
        preflight.check_compiler({'PATH': str(tmp_path)})
    assert 'no C and C++ compiler' in caught.value.problem
    assert 'build-essential' in caught.value.remedy


@pytest.mark.parametrize(
    ('name', 'sign'),
    [
        ('caf\xe9', "'\xe9'"),
        ('a:b', "':'"),
        ('a$b', "'$'"),
        ('\u6d77', "'\u6d77'"),
        ('a (1)', "'('"),
        ('a,b', "','"),
    ],
)
def test_a_checkout_that_the_build_cannot_work_in_is_refused_at_once(name, sign, tmp_path):
    with pytest.raises(SetupError) as caught:
        install.ensure(Workspace(root=tmp_path / name, native=False))
    assert sign in caught.value.problem and 'move the checkout' in caught.value.remedy
    preflight.check_place(Workspace(root=tmp_path / 'my check_out-1.0+a=b@~1', native=False))


def test_a_checkout_that_is_set_up_is_used_without_writing_into_it(monkeypatch):
    # Whoever owns it: nothing is opened for writing where nothing is left to do.
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError('wrote into the checkout')

    for owner, name in ((install, 'SetupLock'), (venv, 'ensure')):
        monkeypatch.setattr(owner, name, refuse)
    install.ensure(Workspace(root=ROOT, native='ROS_DISTRO' in os.environ))
    monkeypatch.setattr(environment.os, 'access', lambda *_: False)
    env = environment.environment(Workspace(root=ROOT, native=False), {'HOME': '/home/me'})
    assert not env['NUMBA_CACHE_DIR'].startswith(str(ROOT))
    assert not env['PYTHONPYCACHEPREFIX'].startswith(str(ROOT))


def test_what_is_left_to_do_in_a_checkout_of_another_user_is_said(workspace, monkeypatch):
    workspace.state.mkdir(parents=True)
    monkeypatch.setattr(preflight.os, 'access', lambda *_: False)
    with pytest.raises(SetupError, match='cannot write') as caught:
        install.ensure(workspace)
    assert 'as its owner' in caught.value.remedy


def test_a_checkout_that_was_moved_is_built_anew(workspace):
    cache = workspace.build / 'demo' / 'CMakeCache.txt'
    cache.parent.mkdir(parents=True)
    workspace.install.mkdir(parents=True)
    workspace.mark_done('build-demo', 'a')
    cache.write_text(f'CMAKE_CACHEFILE_DIR:INTERNAL={workspace.build}/demo\n')
    build.drop_moved(workspace)
    assert cache.is_file() and workspace.is_done('build-demo', 'a')
    cache.write_text('CMAKE_CACHEFILE_DIR:INTERNAL=/home/me/before/build/demo\n')
    build.drop_moved(workspace)
    assert not workspace.build.exists() and not workspace.is_done('build-demo', 'a')
    assert not workspace.install.exists()


def test_too_little_disk_says_how_much(monkeypatch, tmp_path):
    monkeypatch.setattr(preflight, 'FREE_DISK_GB', 1e6)
    with pytest.raises(SetupError, match=r'GB free at .* needs 1000000 GB'):
        preflight.check_disk(tmp_path)


def test_small_shared_memory_tells_docker_users_the_option(monkeypatch):
    monkeypatch.setattr(preflight, 'shared_memory_mb', lambda _: 64.0)
    with pytest.raises(SetupError) as caught:
        preflight.check_shared_memory()
    assert 'has 64 MiB' in caught.value.problem
    assert '--shm-size' in caught.value.remedy


def test_missing_shared_memory_is_not_taken_for_zero(tmp_path):
    with pytest.raises(SetupError, match='is missing'):
        preflight.check_shared_memory(str(tmp_path / 'nowhere'))


@pytest.mark.parametrize('version', [(3, 9), (3, 14)])
def test_unsupported_python_is_refused(monkeypatch, version):
    info = type('Info', (tuple,), {'major': version[0], 'minor': version[1]})
    monkeypatch.setattr(sys, 'version_info', info((*version, 0, 'final', 0)))
    with pytest.raises(SetupError, match=rf'Python {version[0]}\.{version[1]}'):
        preflight.check_python()


def test_other_processors_are_sent_to_native_ros(monkeypatch):
    monkeypatch.setattr(preflight.platform, 'machine', lambda: 'aarch64')
    with pytest.raises(SetupError) as caught:
        preflight.check_platform()
    assert '/opt/ros/jazzy/setup.bash' in caught.value.remedy


def test_old_ros_distribution_is_refused():
    with pytest.raises(SetupError) as caught:
        preflight.check_ros_distro({'ROS_DISTRO': 'humble'})
    assert "'humble'" in caught.value.problem
    assert 'unset ROS_DISTRO' in caught.value.remedy


# --- CMake files of the wheels -----------------------------------------------------------------


def exported_tree(venv_dir: Path) -> Path:
    path = venv_dir / 'share' / 'std_msgs' / 'cmake' / 'export.cmake'
    path.parent.mkdir(parents=True)
    path.write_text(EXPORTED_CMAKE, encoding='utf-8')
    (venv_dir / 'share' / 'clean.cmake').write_text('set(x 1)\n', encoding='utf-8')
    return path


def test_cmake_files_name_this_python_and_stay_so(tmp_path):
    exported = exported_tree(tmp_path)
    places = {'include': Path('/usr/include/python3.11'), 'site_packages': tmp_path / 'site'}
    assert len(cmake_prefix.leftovers(tmp_path)) == 1
    assert cmake_prefix.patch_tree(tmp_path, **places) == 1
    patched = exported.read_text(encoding='utf-8')
    assert '"${_IMPORT_PREFIX}/include;/usr/include/python3.11")' in patched
    assert f'set(np {tmp_path}/site/numpy/_core/include)' in patched
    assert f'set(root "{tmp_path}")' in patched
    assert '/opt/python3/bin' in patched
    assert cmake_prefix.leftovers(tmp_path) == {}
    before = exported.stat().st_mtime_ns
    assert cmake_prefix.patch_tree(tmp_path, **places) == 0
    assert exported.stat().st_mtime_ns == before


# --- steps, stamps and keys --------------------------------------------------------------------


def test_a_step_is_done_only_for_its_own_inputs(workspace):
    workspace.mark_done('venv', 'a')
    assert workspace.is_done('venv', 'a')
    assert not workspace.is_done('venv', 'b')
    workspace.mark_undone('venv')
    assert not workspace.is_done('venv', 'a')
    workspace.mark_undone('venv')


def test_digest_keeps_neighbouring_parts_apart():
    assert digest(['ab', 'c']) != digest(['a', 'bc'])


def make_package(root: Path) -> Path:
    home = root / 'src' / 'demo'
    for folder in ('msg', 'demo'):
        (home / folder).mkdir(parents=True)
    for name, text in {
        'package.xml': '<package/>',
        'CMakeLists.txt': '',
        'msg/A.msg': 'bool a\n',
        'demo/a.py': 'A = 1\n',
    }.items():
        (home / name).write_text(text, encoding='utf-8')
    return home


def test_changed_python_needs_no_build_but_messages_and_new_files_do(tmp_path):
    home = make_package(tmp_path)
    key = build.package_key(home, 'base', tmp_path)
    (home / 'demo' / 'a.py').write_text('A = 2\n', encoding='utf-8')
    assert build.package_key(home, 'base', tmp_path) == key
    (home / 'demo' / 'b.py').write_text('', encoding='utf-8')
    with_module = build.package_key(home, 'base', tmp_path)
    assert with_module != key
    (home / 'msg' / 'A.msg').write_text('bool b\n', encoding='utf-8')
    changed = build.package_key(home, 'base', tmp_path)
    assert changed != with_module
    (home / 'scripts').mkdir()
    (home / 'scripts' / 'a_node').write_text('', encoding='utf-8')
    assert build.package_key(home, 'base', tmp_path) != changed
    assert build.package_key(home, 'other requirements', tmp_path) != changed


def test_failed_command_shows_its_end_its_log_and_the_fitting_remedy(tmp_path):
    log = tmp_path / 'pip.log'
    code = 'print("x" * 10); print("OSError: No space left on device"); raise SystemExit(3)'
    with pytest.raises(SetupError) as caught, Step('installing') as shown:
        run_logged(
            shown,
            [sys.executable, '-c', code],
            log=log,
            env=os.environ,
            cwd=tmp_path,
            remedies={'No space left': 'free some space'},
            default_remedy='read the log',
        )
    text = str(caught.value)
    assert 'exit code 3' in text
    assert 'OSError: No space left on device' in text
    assert 'free some space' in text
    assert str(log) in text
    assert 'xxxxxxxxxx' in log.read_text(encoding='utf-8')


def test_of_a_long_failure_the_first_error_and_the_end_are_shown():
    output = [f'step {i}' for i in range(100)]
    output[40] = 'CMake Error: no such file'
    picked = telling_lines(output)
    assert picked[0] == 'CMake Error: no such file'
    assert picked[-1] == 'step 99'
    assert len(picked) <= 13
    assert telling_lines(['a', '', 'b']) == ['a', 'b']


def test_set_up_from_inside_its_own_environment_keeps_that_environment(workspace, monkeypatch):
    key = venv.venv_key(workspace)
    monkeypatch.setattr(sys, 'prefix', str(workspace.venv))
    monkeypatch.setattr(sys, 'executable', str(workspace.python))
    assert venv.venv_key(workspace) == key
    assert venv.interpreter() != str(workspace.python)


def test_command_that_does_not_exist_is_a_message(tmp_path):
    with pytest.raises(SetupError, match='cannot start'), Step('installing') as shown:
        run_logged(
            shown,
            [tmp_path / 'nothing'],
            log=tmp_path / 'log',
            env={},
            cwd=tmp_path,
            remedies={},
            default_remedy='install it',
        )


# --- LLVM --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'version'),
    [
        ('libLLVM-14.so.1', 14),
        ('libLLVM-15.0.7.so.1', 15),
        ('libLLVM.so.19.1', 19),
        ('libLLVM-19.so', 19),
        ('libLLVM.so', None),
    ],
)
def test_llvm_version_is_read_from_the_name(name, version):
    assert llvm.version_of(Path('/usr/lib') / name) == version


def test_llvm_candidates_are_new_enough_and_the_users_choice_leads():
    found = llvm.candidates({'DRJIT_LIBLLVM_PATH': '/my/libLLVM.so'})
    assert found[0] == Path('/my/libLLVM.so')
    versions = [llvm.version_of(path) for path in found[1:]]
    assert all(version is None or version >= llvm.OLDEST for version in versions)


# --- environment and doctor --------------------------------------------------------------------


def test_environment_sets_the_wheels_guard_and_keeps_the_users_choices(workspace):
    libs = workspace.site_packages / 'ros_rclpy.libs'
    libs.mkdir(parents=True)
    env = environment.environment(workspace, {'PATH': '/bin', 'ROS_DOMAIN_ID': '42'})
    assert env['_ROS_WHEELS_BOOTSTRAP_COMPLETE'] == '1'
    assert str(libs) in env['LD_LIBRARY_PATH'].split(':')
    assert env['AMENT_PREFIX_PATH'].split(':')[0] == str(workspace.install)
    assert env['PATH'] == f'{workspace.venv}/bin:/bin'
    assert env['ROS_DOMAIN_ID'] == '42'
    assert env['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


def test_bytecode_is_kept_even_where_the_surroundings_forbid_it(workspace):
    given = environment.environment(workspace, {'PYTHONDONTWRITEBYTECODE': '1'})
    for env in (given, environment.environment(workspace, {})):
        code = 'import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)'
        env = {k: env[k] for k in ('PYTHONDONTWRITEBYTECODE', 'PYTHONPYCACHEPREFIX')}
        shown = subprocess.run(
            [sys.executable, '-c', code], env=env, capture_output=True, text=True, check=True
        ).stdout
        assert shown.split() == ['False', str(workspace.state / 'cache' / 'bytecode')]


def test_compiled_code_in_any_folder_names_the_cache(workspace):
    kernel = workspace.root / 'src' / 'oceangym_sim' / 'oceangym_sim' / 'dynamics' / 'kernel.py'
    kernel.parent.mkdir(parents=True)
    digests = set()
    for body in ('njit(1)', 'njit(2)'):
        kernel.write_text(body, encoding='utf-8')
        digests.add(environment.compiled_code_digest(workspace))
    assert len(digests) == 2


def test_the_domain_is_left_to_each_run(workspace):
    workspace.site_packages.mkdir(parents=True)
    assert 'ROS_DOMAIN_ID' not in environment.environment(workspace, {'PATH': '/bin'})


def test_environment_script_can_be_sourced_by_a_plain_shell(workspace):
    workspace.site_packages.mkdir(parents=True)
    script = workspace.root / 'env.sh'
    script.write_text(environment.script(workspace), encoding='utf-8')
    shown = subprocess.run(
        ['sh', '-uc', f'. "{script}"; echo "$OCEANGYM_ROOT $ROS_AUTOMATIC_DISCOVERY_RANGE $PATH"'],
        env={'PATH': os.environ['PATH'], 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.startswith(f'{workspace.root} SUBNET {workspace.venv}/bin:')


def test_dds_profile_carries_an_observation_and_stays_on_this_host():
    tree = ElementTree.parse(ROOT / 'config' / 'fastdds.xml')
    values = {element.tag.split('}')[1]: (element.text or '').strip() for element in tree.iter()}
    observation = 6 * (512 * 512 * 3) + 6 * (512 * 512 * 4 + 512 * 512)
    assert int(values['segment_size']) >= observation
    assert int(values['maxMessageSize']) >= 512 * 512 * 4
    assert values['address'] == '127.0.0.1'


def test_doctor_on_a_checkout_without_set_up_says_so(workspace, monkeypatch):
    monkeypatch.delenv('FASTRTPS_DEFAULT_PROFILES_FILE', raising=False)
    (workspace.root / 'requirements').mkdir()
    workspace.lock_file.write_text('', encoding='utf-8')
    findings = {finding.name: finding for finding in doctor.examine(workspace)}
    assert findings['set-up'].status is doctor.Status.FAIL
    assert 'scripts/oceangym setup' in findings['set-up'].remedy
    assert findings['DDS profile'].status is doctor.Status.FAIL


@pytest.mark.parametrize(
    ('answer', 'status', 'shown'),
    [
        ((True, '[true, "range 3.00 m", ""]'), doctor.Status.OK, 'self-test passed: range 3.00 m'),
        (
            (True, '[false, "no GPU answers", "ask nvidia-smi"]'),
            doctor.Status.WARN,
            'no GPU answers',
        ),
        ((False, 'ImportError: drjit'), doctor.Status.WARN, 'ImportError: drjit'),
        ((True, 'a driver says hello'), doctor.Status.WARN, 'a driver says hello'),
    ],
)
def test_doctor_asks_the_gpu_itself(workspace, monkeypatch, answer, status, shown):
    monkeypatch.setattr(doctor.Path, 'glob', lambda *_: [Path('/dev/nvidia0')])
    monkeypatch.setattr(doctor, '_python_answers', lambda *_: answer)
    finding = doctor._gpu(workspace, {})
    assert finding.status is status
    assert shown in finding.detail
    assert status is doctor.Status.OK or finding.remedy


@pytest.mark.parametrize('native', [False, True])
def test_doctor_says_whether_gazebo_can_be_hosted(tmp_path, monkeypatch, native):
    here = Workspace(root=tmp_path, native=native)
    monkeypatch.setattr(doctor, '_python_answers', lambda *_: (False, "No module named 'gz'"))
    finding = doctor._gazebo(here, {})
    # Only beside an installed ROS is it something to put right.
    assert finding.status is (doctor.Status.WARN if native else doctor.Status.OK)
    assert 'backend:=gazebo is refused' in finding.detail
    assert 'gz_sim_vendor 0.0.13' in finding.remedy
    monkeypatch.setattr(
        doctor,
        '_python_answers',
        lambda *_: (True, '/usr/lib/python3/dist-packages/gz/sim8/__init__.py'),
    )
    assert doctor._gazebo(here, {}).status is doctor.Status.OK


def test_what_doctor_asks_gazebo_and_gpu_is_there_to_be_asked(tmp_path):
    """The names in the snippets exist; that no bindings or GPU are here is a refusal, not a crash."""
    for code, refusal in ((doctor._GAZEBO_CODE, 'OceanGymError'), (doctor._GPU_CODE, '')):
        done = subprocess.run(
            [sys.executable, '-c', code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or refusal in done.stderr.splitlines()[-1], done.stderr


def test_doctor_table_shows_remedies_only_where_needed():
    rows = doctor.table(
        [
            doctor.Finding(name='a', status=doctor.Status.OK, detail='fine', remedy='none'),
            doctor.Finding(
                name='bb', status=doctor.Status.FAIL, detail='broken', remedy='mend it'
            ),
        ]
    )
    assert rows.splitlines() == ['ok    a   fine', 'fail  bb  broken', ' ' * 10 + '-> mend it']


# --- tests verb, requirements, manifests -------------------------------------------------------


def test_types_are_checked_with_the_numpy_they_are_written_for(monkeypatch):
    here = Workspace(root=ROOT, native=False)
    monkeypatch.setattr(sys, 'version_info', (3, 11, 7, 'final', 0))
    assert 'mypy' in testing.style_commands(here)
    assert 'mypy' not in testing.style_commands(Workspace(root=ROOT, native=True))
    monkeypatch.setattr(sys, 'version_info', (3, 12, 1, 'final', 0))
    assert list(testing.style_commands(here)) == ['ruff check', 'ruff format']


def test_every_requirement_is_pinned_and_no_index_is_named():
    for name in ('lock.txt', 'lock-native.txt'):
        for line in (ROOT / 'requirements' / name).read_text(encoding='utf-8').splitlines():
            if line and not line.startswith('#'):
                assert re.match(r'[A-Za-z0-9._-]+==[^ ]+( ; .+)?$', line), f'{name}: {line}'


def test_build_tools_come_from_the_lock():
    lock = 'numpy==2.2.6\nsetuptools==79.0.1\nsetuptools-scm==8\nwheel==0.48.0\n'
    assert venv.build_tools(lock) == 'setuptools==79.0.1\nwheel==0.48.0\n'


def test_every_ros_wheel_is_held_to_its_jazzy_version():
    lines = (ROOT / 'requirements' / 'ros.in').read_text(encoding='utf-8').splitlines()
    ros = [line for line in lines if line.startswith('ros-')]
    assert len(ros) > 30
    assert all('==' in line for line in ros)
    lock = (ROOT / 'requirements' / 'lock.txt').read_text(encoding='utf-8')
    assert 'ros-sensor-msgs==5.3.' in lock
    assert 'ros-rclpy==7.1.' in lock


@pytest.mark.parametrize('package', PACKAGES)
def test_manifest_names_its_package_and_installs_its_executables(package):
    home = ROOT / 'src' / package
    manifest = ElementTree.parse(home / 'package.xml').getroot()
    assert manifest.findtext('name') == package
    cmake = (home / 'CMakeLists.txt').read_text(encoding='utf-8')
    assert f'project({package}' in cmake
    for script in (home / 'scripts').glob('*'):
        assert f'scripts/{script.name}' in cmake
        assert os.access(script, os.X_OK)
        assert f'from {package}.nodes.{script.name} import main' in script.read_text('utf-8')
