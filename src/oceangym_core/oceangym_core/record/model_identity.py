"""Which model a run asked: its preset's digest, so that two edits of one preset are told apart."""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import json
from pathlib import Path
from urllib.parse import urlsplit

from oceangym_core.assets import config_path
from oceangym_core.config.options import model_names, RunOptions
from oceangym_core.config.tasks import config_folder
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_yaml
from oceangym_core.paths import user_path
from oceangym_core.record.schema import ModelIdentity

_YAML = ('.yaml', '.yml')


def preset_file(name: str, config_dirs: Iterable[Path] = ()) -> Path:
    """Return the file of a model preset, given by its name or as the path of a YAML file.

    Raises:
        OceanGymError: There is none of this name.
    """
    if name.endswith(_YAML):
        return user_path(name)
    own = [config_folder(folder, 'agents') for folder in config_dirs]
    for folder in (*reversed(own), config_path('agents')):
        for ending in _YAML:
            if Path(name).name == name and (folder / f'{name}{ending}').is_file():
                return folder / f'{name}{ending}'
    raise unknown_name('model', name, model_names())


def model_entry(options: RunOptions) -> ModelIdentity | None:
    """Return the entry ``model`` of a record's ``benchmark``; None for agents without a model.

    Comments and the order of keys do not count in the digest. The endpoint is named by its host
    alone; it is empty where the run starts a scripted server of its own.

    Raises:
        OceanGymError: There is no such preset, or it cannot be read.
    """
    if not options.model_preset:
        return None
    path = preset_file(options.model_preset, options.config_dirs)
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise OceanGymError(f'{path} does not hold a mapping')
    # How fast a model may be asked changes nothing of what it answers.
    asked = {key: value for key, value in content.items() if key != 'requests_per_minute'}
    text = json.dumps(asked, sort_keys=True, default=str)
    return ModelIdentity(
        id=options.agent_name,
        preset_sha256=hashlib.sha256(text.encode()).hexdigest(),
        host=_host(options.base_url or str(content.get('base_url') or '')),
    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ''
    except ValueError:
        return ''
