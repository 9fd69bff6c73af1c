"""What a score is comparable with: the benchmark's version, its track and digests of its content.

Two scores may share a table only where all of this agrees; a change to any of the files behind a
digest shows there even if nobody thought of counting the version up.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
import hashlib
import json
from pathlib import Path

from oceangym_core.assets import assets_root, config_path
from oceangym_core.config.options import MODEL_AGENTS, prompt_names, RunOptions
from oceangym_core.config.tasks import TaskSpec
from oceangym_core.config.waters import Water
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.paths import user_path
from oceangym_core.record.model_identity import model_entry
from oceangym_core.record.provenance import files_sha256, world_files
from oceangym_core.record.schema import Benchmark
from oceangym_core.world.world import World

BENCHMARK_VERSION = '2.0.0'
# Of how images and pings are formed: counted up when the same scene gives other pixels.
SENSOR_MODEL_VERSION = '2.0.0'
PROMPT_FILE = 'prompt.yaml'
VEHICLE = 'bluerov2_heavy'
SENSOR_FOLDERS = ('sonars', 'environments')
# Beside the package `scoring`, what its scorers take from elsewhere.
SCORER_MODULES = (
    'record/episode.py',
    'record/schema.py',
    'world/footprint.py',
    'world/footprints.py',
    'contract/labels.py',
    'config/tracks.py',
)


def benchmark_entry(
    options: RunOptions, *, task: TaskSpec, world: World, water: Water
) -> Benchmark:
    """Return the entry ``benchmark`` of ``run.yaml`` and ``score.json``.

    Raises:
        OceanGymError: The prompt or the preset of a model's run does not exist.
    """
    return Benchmark(
        version=BENCHMARK_VERSION,
        track=options.track,
        hashes={
            'world': files_sha256(world_files(world, props=False)),
            'props': files_sha256(world_files(world, terrain=False)),
            'task': task_sha256(task),
            'prompt': _prompt_of(options),
            'scorers': scorers_sha256(),
            'sensors': sensors_sha256(water),
        },
        model=model_entry(options),
    )


def task_sha256(task: TaskSpec) -> str:
    """Return the digest of a task's file and reference image."""
    files = {'task': task.path, 'reference_image': task.reference_image_path}
    return files_sha256((name, path) for name, path in files.items() if path is not None)


def prompt_folder(name: str, config_dirs: Iterable[Path] = ()) -> Path:
    """Return the directory of a prompt, given by its name or as the path of a directory.

    Raises:
        OceanGymError: There is none.
    """
    if '/' in name or name.startswith('~') or name in ('.', '..'):
        folder = user_path(name)
        if not folder.is_dir():
            raise OceanGymError(f'prompt {folder} is not a folder')
        return folder
    config_dirs = tuple(config_dirs)
    own = [folder / 'prompts' for folder in reversed(config_dirs)]
    for root in (*own, config_path('prompts')):
        if (root / name / PROMPT_FILE).is_file():
            return root / name
    known = prompt_names(config_dirs)
    raise unknown_name(
        'prompt', name, known, hint='One of your own is given by the path of its folder.'
    )


def prompt_sha256(folder: Path) -> str:
    """Return the digest of what a prompt consists of: its templates and their description."""
    return files_sha256(
        (path.name, path)
        for path in folder.iterdir()
        if path.name == PROMPT_FILE or (path.suffix == '.j2' and not path.name.startswith('.'))
    )


def _prompt_of(options: RunOptions) -> str:
    if options.agent not in MODEL_AGENTS:
        return ''
    return prompt_sha256(prompt_folder(options.prompt, options.config_dirs))


@lru_cache(maxsize=1)
def scorers_sha256() -> str:
    """Return the digest of the source of every scorer."""
    package = Path(__file__).resolve().parents[1]
    modules = [*package.glob('scoring/*.py'), *(package / name for name in SCORER_MODULES)]
    state = hashlib.sha256()
    for path in sorted(modules):
        # A checkout may have turned the ends of lines.
        text = path.read_bytes().replace(b'\r\n', b'\n')
        state.update(f'{path.relative_to(package).as_posix()} {len(text)}\n'.encode() + text)
    return state.hexdigest()


def sensors_sha256(water: Water) -> str:
    """Return the digest of what decides how the world looks: vehicle, presets and water."""
    vehicle = assets_root() / 'models' / VEHICLE
    files = {f'vehicle/{name}': path for name, path in _files_in(vehicle)}
    for folder in SENSOR_FOLDERS:
        files |= {f'{folder}/{name}': path for name, path in _files_in(config_path(folder))}
    content = {
        'version': SENSOR_MODEL_VERSION,
        'files': files_sha256(files.items()),
        'water': water.model_dump(mode='json'),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _files_in(folder: Path) -> list[tuple[str, Path]]:
    """Return a folder's files with names relative to it, hidden and compiled ones aside."""
    return [
        (path.relative_to(folder).as_posix(), path)
        for path in folder.rglob('*')
        if path.is_file()
        and not any(
            part.startswith(('.', '__pycache__')) for part in path.relative_to(folder).parts
        )
    ]
