"""Words that people mistype, paste or generate: refused in one short message, or read as meant."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from oceangym_core.config.options import parse_ros_arguments, RunOptions
from oceangym_core.config.tasks import load_task
from oceangym_core.config.waters import load_water
from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path
from oceangym_core.record.writer import new_run_directory, run_id_for
from oceangym_core.scoring import main as score_main
from oceangym_core.scoring import rescore

NOBODY = '~nobody_of_this_name'


@pytest.mark.parametrize(
    ('words', 'part'),
    [
        (['seed:=٣'], 'not a whole number'),
        (['rtf:=１.５', 'mode:=realtime'], 'not a number'),
        (['start:=1_44,-114,-63,0'], 'four numbers'),
        (['start:=٣,-114,-63,0'], 'four numbers'),
        (['start:=144,-114,-63,inf'], 'four numbers'),
        (['start:=144,-114,-63,1e300'], 'yaw 1e+300 is out of range'),
        (['start:=random_٣'], 'unknown start'),
        (['task:=' + 'x' * 100_000], '100000 characters'),
        (['x' * 100_000], 'characters'),
        (['seed:=' + '9' * 100_000], 'characters'),
        (['namespace:=' + 'a' * 300], '300 characters'),
        (['results_dir:=runs\udc80'], 'not UTF-8'),
        (['agent:=scripted', 'memory_from:=:'], 'names no path'),
        (['config:=::'], 'names no path'),
        ([f'config:={NOBODY}/c'], 'no home directory'),
        ([f'task:={NOBODY}/mine.yaml'], 'no home directory'),
        ([f'water:={NOBODY}/mine.yaml'], 'no home directory'),
        ([f'profile:={NOBODY}/mine.yaml'], 'no home directory'),
    ],
)
def test_odd_words_are_refused_in_a_short_message(words: list[str], part: str) -> None:
    with pytest.raises(OceanGymError) as caught:
        options = parse_ros_arguments(words)
        assert options.memory_sources or options.config_dirs
    message = str(caught.value)
    assert part in message
    assert len(message) < 2000


def test_a_home_of_nobody_is_a_message_wherever_a_path_is_read(tmp_path: Path) -> None:
    path = Path(NOBODY) / 'x.yaml'
    with pytest.raises(OceanGymError, match='no home directory'):
        user_path(path)
    with pytest.raises(OceanGymError, match='no home directory'):
        new_run_directory(path, 'run')
    with pytest.raises(OceanGymError, match='no home directory'):
        rescore(path)
    with pytest.raises(OceanGymError, match='no home directory'):
        load_water(str(path))
    assert user_path('~') == Path.home()
    assert user_path(tmp_path / '~x') == tmp_path / '~x'
    with pytest.raises(OceanGymError):
        load_task(tmp_path / 'missing.yaml')


def test_a_file_in_place_of_a_configuration_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('x')
    with pytest.raises(OceanGymError, match='is not a directory'):
        parse_ros_arguments([f'config:={tmp_path / "file"}'])
    with pytest.raises(OceanGymError, match='does not exist'):
        parse_ros_arguments([f'config:={tmp_path / "none"}'])


def test_a_results_directory_beyond_utf_8_is_refused(tmp_path: Path) -> None:
    odd = tmp_path / 'odd\udc80'
    with pytest.raises(OceanGymError, match='not UTF-8'):
        new_run_directory(odd, 'run')
    assert not odd.exists()


def test_names_of_files_make_directories_that_need_no_quoting(tmp_path: Path) -> None:
    now = datetime(2026, 5, 1, 12, 0, 0, tzinfo=timezone.utc)
    options = RunOptions(
        task=str(tmp_path / ('my task:$(x)\n' + 'long' * 60 + '.yaml')),
        water='sür\udc80.yaml',
        agent='scripted',
        model='a b.yaml',
    )
    run_id = run_id_for(options, now)
    assert run_id.startswith('20260501-120000_my-task-x-long')
    assert not set(run_id) & set(' :$()\n/"\'')
    assert len(run_id.encode()) < 250
    assert new_run_directory(tmp_path, run_id).is_dir()
    assert run_id_for(RunOptions(), now) == '20260501-120000_inspect_pipe_shallow_point1_survey_s0'


@pytest.mark.parametrize(
    ('words', 'part'),
    [
        ([], 'the following arguments are required: path'),
        (['a', 'b'], 'unrecognized arguments: b'),
        (['a', '--scorrer', 'paper'], "Did you mean '--scorer'?"),
        (['a', '--scorer'], 'expected one argument'),
    ],
)
def test_mistakes_in_the_score_verb_are_errors_as_in_any_other(
    words: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score_main(words) == 1
    written = capsys.readouterr().err
    assert written.startswith('error: ')
    assert part in written
