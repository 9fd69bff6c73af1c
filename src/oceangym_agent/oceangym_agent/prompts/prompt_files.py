"""Prompts as folders of template files, checked as a whole before a run begins.

A prompt is a folder with ``prompt.yaml`` and the templates of `TEMPLATES`. Further templates whose
names begin with an underscore are parts that those include. What a template may use is listed in
``config/prompts/README.md``; an unknown name, an attribute that is missing, or a file that nothing
would read is an error that names the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
import traceback
from typing import Annotated, Any

import jinja2
from jinja2 import meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import Field

from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_schema, read_text, Schema
from oceangym_core.paths import user_path
from oceangym_core.record.provenance import files_sha256

PROMPT_FILE = 'prompt.yaml'
SUFFIX = '.j2'
# system and single: the one call of loop:=single. perceive_system and perceive: images to text, the
# paper's eq. 2. system and act: text to a command. reask: after a reply that was not understood.
TEMPLATES = ('system', 'single', 'perceive_system', 'perceive', 'act', 'reask')
MAX_TEMPLATE_BYTES = 256 * 1024
# Names that every template may use; their fields are listed in the README of config/prompts.
NAMES = frozenset(
    {
        'call',
        'loop',
        'reply_style',
        'actions',
        'reply_instructions',
        'goal',
        'guide',
        'track_text',
        'reference',
        'state',
        'outcome',
        'views',
        'fans',
        'sonar_text',
        'memory',
        'earlier_views',
        'coverage_text',
        'coverage_image',
        'detector_text',
        'planner_text',
        'perception',
        'error',
    }
)


class PromptInfo(Schema):
    """The content of ``prompt.yaml``.

    Attributes:
        version: Of the wording; raised with every change that a model could notice.
        title, description: For people.
    """

    version: Annotated[str, Field(pattern=r'^\d+\.\d+\.\d+$')]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(min_length=1, max_length=4000)]


@dataclass(frozen=True, kw_only=True)
class PromptSet:
    """A prompt, ready to be rendered.

    Attributes:
        name: Of its folder.
        directory: Where it lies.
        info: Its version and title.
        sha256: Digest of all its files.
        templates: Name with suffix -> text.
    """

    name: str
    directory: Path
    info: PromptInfo
    sha256: str
    templates: Mapping[str, str]

    @property
    def version(self) -> str:
        """Of the wording."""
        return self.info.version

    @cached_property
    def _environment(self) -> jinja2.Environment:
        # Compiled templates are kept in it.
        return _environment(self.templates)

    def render(self, template: str, context: Mapping[str, Any]) -> str:
        """Return a template's text.

        Args:
            template: One of `TEMPLATES`.
            context: Values of `NAMES`.

        Raises:
            OceanGymError: A variable is missing or the template fails; names file and variable.
        """
        file = template + SUFFIX
        try:
            return self._environment.get_template(file).render(context).strip() + '\n'
        except jinja2.TemplateError as error:
            raise _template_error(self.directory, file, error) from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError) as error:
            raise _template_error(self.directory, file, error) from error
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise _template_error(self.directory, file, error) from error


def load_prompt(name: str, config_dirs: Iterable[Path] = ()) -> PromptSet:
    """Return a prompt by the name of its folder in ``config/prompts``, or by a directory's path.

    Args:
        name: A folder's name, or a path with a slash in it.
        config_dirs: Further configuration directories, whose ``prompts/`` is looked at.

    Raises:
        OceanGymError: There is none, or it is incomplete or wrong.
    """
    if '/' in name or name.startswith('~') or name in ('.', '..'):
        return _read(user_path(name))
    folders = _folders(config_dirs)
    if name not in folders:
        raise unknown_name(
            'prompt', name, folders, hint='One of your own is given by the path of its folder.'
        )
    return _read(folders[name])


def prompt_names(config_dirs: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the names of the known prompts."""
    return tuple(sorted(_folders(config_dirs)))


def _folders(config_dirs: Iterable[Path]) -> dict[str, Path]:
    return {
        folder.name: folder
        for root in (config_path('prompts'), *(d / 'prompts' for d in config_dirs))
        if root.is_dir()
        for folder in sorted(root.iterdir())
        if (folder / PROMPT_FILE).is_file()
    }


def _read(directory: Path) -> PromptSet:
    if not directory.is_dir():
        raise OceanGymError(
            f'prompt {directory} is not a folder; a prompt is a folder with {PROMPT_FILE} and '
            f'{", ".join(t + SUFFIX for t in TEMPLATES)}'
        )
    info = read_schema(directory / PROMPT_FILE, PromptInfo)
    files = [path for path in sorted(directory.iterdir()) if not path.name.startswith('.')]
    texts: dict[str, str] = {}
    for path in files:
        if path.name == PROMPT_FILE or path.suffix == '.md':
            continue
        known = path.name in {t + SUFFIX for t in TEMPLATES}
        if not known and not (path.name.startswith('_') and path.suffix == SUFFIX):
            raise OceanGymError(
                f'{directory}: '
                + str(
                    unknown_name(
                        'template file',
                        path.name,
                        [t + SUFFIX for t in TEMPLATES],
                        hint=f'Parts that templates include are called _<name>{SUFFIX}.',
                    )
                )
            )
        texts[path.name] = read_text(path, MAX_TEMPLATE_BYTES)
    for template in TEMPLATES:
        if template + SUFFIX not in texts:
            raise OceanGymError(f'{directory}: template file {template}{SUFFIX} is missing')
    _check(directory, texts)
    return PromptSet(
        name=directory.resolve().name,
        directory=directory,
        info=info,
        sha256=files_sha256(
            (path.name, path) for path in files if path.name == PROMPT_FILE or path.name in texts
        ),
        templates=texts,
    )


def _environment(templates: Mapping[str, str]) -> jinja2.Environment:
    return ImmutableSandboxedEnvironment(
        # With file names, so that the frames of an error tell which part it comes from.
        loader=jinja2.FunctionLoader(
            lambda name: (templates[name], name, None) if name in templates else None
        ),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
    )


def _check(directory: Path, texts: Mapping[str, str]) -> None:
    """Refuse what is wrong without rendering: syntax, unknown names, parts that are not there."""
    environment = _environment(texts)
    included: set[str] = set()
    for file, text in texts.items():
        try:
            tree = environment.parse(text, file, file)
            names = meta.find_undeclared_variables(tree)
        except (jinja2.TemplateError, RecursionError) as error:
            raise _template_error(directory, file, error) from error
        # A part may use what the template that includes it has set.
        for unknown in sorted(names - NAMES) if not file.startswith('_') else ():
            raise OceanGymError(f'{directory / file}: {unknown_name("variable", unknown, NAMES)}')
        for part in meta.find_referenced_templates(tree):
            if part is not None and part not in texts:
                raise OceanGymError(f'{directory / file}: {unknown_name("part", part, texts)}')
            included.add(part or '')
    parts = [file for file in texts if file.startswith('_')]
    unused = [file for file in parts if file not in included and '' not in included]
    if unused:
        raise OceanGymError(f'{directory}: no template includes {unused[0]}; remove or include it')


def _template_error(directory: Path, file: str, error: BaseException) -> OceanGymError:
    """Return the error with the file and line that it comes from."""
    place = file
    line = getattr(error, 'lineno', None)
    if isinstance(error, jinja2.TemplateSyntaxError):
        place = error.name if error.name and error.name.endswith(SUFFIX) else file
    else:
        for frame in traceback.extract_tb(error.__traceback__):
            # Jinja names the frames of compiled templates after their files.
            if frame.filename.endswith(SUFFIX):
                place, line = Path(frame.filename).name, frame.lineno
    where = f'{directory / place}' + (f', line {line}' if line else '')
    if isinstance(error, jinja2.UndefinedError):
        return OceanGymError(
            f'{where}: variable {error.message}; README.md of config/prompts lists what there is'
        )
    return OceanGymError(f'{where}: {type(error).__name__}: {" ".join(str(error).split())[:300]}')
