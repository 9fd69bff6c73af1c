"""Every code block of the README and the manual is run here, or is for an installed ROS 2 alone.

Commands run as they are written, in a folder of their own, with three exceptions: an episode is
flown in this process and ends after one maneuver, a model is a scripted server, and a benchmark
begins one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
import io
from pathlib import Path
import re
import shlex

import pytest
from rich.console import Console

from oceangym import run_command
from oceangym.cli import main, VERBS
from oceangym.launches import launch_named
from oceangym.supervisor import Outcome
from oceangym_agent.scripted_models.scripts import patrol
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_bench.execution.episode import run_episode
from oceangym_bench.execution.simulator_cache import SimulatorCache
from oceangym_core.assets import assets_root
from oceangym_core.config.options import MODEL_AGENTS, RunOptions
from oceangym_setup.cli import VERBS as SETUP_VERBS

ROOT = Path(assets_root())
PAGES = (ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md')))
NATIVE = 'ROS 2 Jazzy'
LANGUAGES = {'bash', 'console', 'yaml', 'python', 'text'}
ONE_RUN = ('--limit', '1', '--executor', 'serial', '--workers', '1')


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: its page, language, title (a file's name, or who it is for) and text."""

    page: Path
    language: str
    title: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    found = re.findall(
        r'^```(\w*)(?: title="([^"]*)")?\n(.*?)^```$',
        page.read_text(encoding='utf-8'),
        re.DOTALL | re.MULTILINE,
    )
    return [Block(page=page, language=kind, title=title, text=text) for kind, title, text in found]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def commands_of(block: Block) -> list[str]:
    """Return a block's commands, continued lines joined, without comments."""
    lines = block.text.replace('\\\n', ' ').splitlines()
    stripped = [re.sub(r'(^|\s+)#.*', '', line).strip() for line in lines]
    return [line for line in stripped if line]


# test_oceangym_own_task.py flies the example, whose world takes a while to generate.
COMMANDS = list(
    dict.fromkeys(
        command
        for block in BLOCKS
        if block.language == 'bash'
        for command in commands_of(block)
        if 'config/examples' not in command
    )
)


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    for block in BLOCKS:
        assert block.language in LANGUAGES, (block.page, block.language)
        if block.language == 'console':
            assert block.title == NATIVE, block.page
        if block.language == 'yaml':  # test_oceangym_own_task.py compares those with a path
            assert block.title or re.match(r'# \w+/\w+\.yaml', block.text), block.page
        if block.language == 'python':
            assert block.title, block.page
    fences = sum(page.read_text(encoding='utf-8').count('\n```') for page in PAGES)
    assert fences == 2 * len(BLOCKS), 'a fence that is not closed, or indented'


def test_native_commands_name_launch_files_and_their_arguments() -> None:
    commands = [c for b in BLOCKS if b.language == 'console' for c in commands_of(b)]
    launched = 0
    for command in commands:
        words = shlex.split(command)
        if words[:3] != ['ros2', 'launch', 'oceangym']:
            continue
        name = words[3].removesuffix('.launch.py')
        assert (ROOT / 'launch' / words[3]).is_file(), command
        launch_named(name).check_names([word.split(':=')[0] for word in words[4:]])
        launched += 1
    assert launched >= 5


@pytest.fixture(scope='module')
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the blocks that are files, which is the current one."""
    folder = tmp_path_factory.mktemp('manual')
    for block in BLOCKS:
        if block.title and block.title != NATIVE:
            (folder / block.title).write_text(block.text, encoding='utf-8')
    server = ScriptedModelServer(script=patrol)

    simulators = SimulatorCache()

    def fly_one_maneuver(
        options: RunOptions, directory: Path, world: Path, domain_id: int, console: Console
    ) -> Outcome:
        if options.agent != 'teleop':  # it waits for keys
            looks = options.agent in ('survey', *MODEL_AGENTS)
            short = replace(options, t_max=30.0, sensors='all' if looks else 'none')
            if options.agent == 'mllm':
                short = replace(short, base_url=server.url)
            directory.rmdir()
            setup, simulator = simulators.prepare(short)
            run_episode(setup, simulator, results_dir=directory.parent, run_id=directory.name)
        return Outcome(code=0, message='')

    class Keyboard(io.StringIO):
        def isatty(self) -> bool:
            return True

    with server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr('sys.stdin', Keyboard())
        patch.setattr(run_command, '_supervise', fly_one_maneuver)
        yield folder


def first_run() -> Path:
    """Return the run directory that the README's first command leaves."""
    found = sorted(Path('runs').glob('*_survey_s0'))
    if not found:
        assert main(['run', 'task:=inspect_pipe']) == 0
        found = sorted(Path('runs').glob('*_survey_s0'))
    return found[0]


def benchmark_run() -> None:
    """Leave a run of the benchmark file `smoke`."""
    if not Path('runs/smoke').is_dir():
        assert main(['bench', 'run', 'smoke', *ONE_RUN]) == 0


def result_tree() -> Path:
    """Return a tree of results as OceanGym leaves them, made of a run of `smoke`."""
    benchmark_run()
    if not Path('runs/smoke/export_oceangym').is_dir():
        assert main(['bench', 'export', 'smoke', '--layout', 'oceangym']) == 0
    return min(Path('runs/smoke/export_oceangym').rglob('memory_*.json')).parents[2]


def filled(word: str) -> str:
    """Return a word of a command with the path that its placeholder stands for."""
    if 'runs/<run>' in word:
        return word.replace('runs/<run>', str(first_run()))
    if word.startswith('path/to/oceangym/results'):
        return str(result_tree())
    return word


@pytest.mark.parametrize('command', COMMANDS)
def test_a_command_of_the_manual_works(
    command: str, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command)
    while '=' in words[0]:
        name, value = words.pop(0).split('=')
        monkeypatch.setenv(name, value)
    program, verb, *rest = words
    assert program == './scripts/oceangym'
    if verb not in VERBS:
        assert verb in SETUP_VERBS
        assert not rest  # what they do with arguments, their own tests show
        return
    if verb == 'bench' and rest[0] == 'run':
        rest += ONE_RUN
    elif verb == 'bench' and 'smoke' in rest:
        benchmark_run()
    assert main([verb, *map(filled, rest)]) == 0


def figures_of(table: str) -> list[str]:
    """Return the first column of a score table."""
    return re.findall(r'^│ (\S.*?) +│', table, re.MULTILINE)


def test_the_readme_shows_the_figures_that_a_run_prints(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = first_run()
    capsys.readouterr()
    assert main(['score', str(run)]) == 0
    (shown,) = [b.text for b in blocks_of(ROOT / 'README.md') if b.language == 'text']
    assert figures_of(shown) == figures_of(capsys.readouterr().out) != []
