"""Reading YAML and JSON that people wrote, and writing files so that a killed process loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
import re
import reprlib
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json
import yaml

from oceangym_core.errors import OceanGymError, unknown_name

MAX_YAML_BYTES = 1024 * 1024
MAX_YAML_VALUES = 200_000
MAX_YAML_DEPTH = 16
MAX_JSON_BYTES = 256 * 1024 * 1024

# Everything that PyYAML's and json's constructors raise on hostile scalars, tags and nesting.
_PARSER_ERRORS = (
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class Schema(BaseModel):
    """Base of every configuration file: typed, unchangeable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra='forbid', strict=True, allow_inf_nan=False)


# Anything farther from the origin than this is no place on Earth's sea floor, but a broken file.
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Vector = tuple[Number, Number, Number]
Component = Annotated[float, Field(ge=-1.001, le=1.001)]
Quaternion = tuple[Component, Component, Component, Component]

SchemaT = TypeVar('SchemaT', bound=Schema)


# Compiled where PyYAML has libyaml: ten times faster, with the same text.
_SafeLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
SAFE_DUMPER: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """PyYAML's safe loader, compiled where there is one; refuses a key that is given twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Build one mapping, refusing duplicate keys instead of taking the last."""
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key.value, str):
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'key {key.value[:80]!r} is given twice', key.start_mark
                )
            seen.add((key.tag, key.value))
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


# YAML 1.2 reads 6e1 and 1.5e3 as numbers; PyYAML, which keeps to 1.1, wants 6.0e+1.
_Loader.add_implicit_resolver(
    'tag:yaml.org,2002:float',
    re.compile(r'[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+\Z'),
    list('-+.0123456789'),
)


def read_text(path: Path, limit: int) -> str:
    """Return a UTF-8 file's text.

    Raises:
        OceanGymError: It cannot be read, is larger than `limit` bytes or is not UTF-8.
    """
    try:
        with path.open('rb') as stream:
            raw = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise OceanGymError(f'cannot read {path}: {reason}') from error
    if len(raw) > limit:
        raise OceanGymError(f'{path} is larger than {limit} bytes, the most that is accepted')
    try:
        return raw.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise OceanGymError(f'{path} is not UTF-8 text (byte {error.start})') from error


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises:
        OceanGymError: It is not readable as one YAML document, or stands for too much data.
    """
    text = read_text(path, MAX_YAML_BYTES)
    try:
        content = yaml.load(text, Loader=_Loader)
    except _PARSER_ERRORS as error:
        raise OceanGymError(f'{path} is not valid YAML: {_first_line(error)}') from error
    try:
        _check_expansion(content)
    except (OverflowError, RecursionError) as error:
        raise OceanGymError(f'{path} is not accepted: {_first_line(error)}') from error
    return content


def _check_expansion(content: Any) -> None:
    """Refuse aliases that stand for more data than any memory holds, and endless nesting."""
    left = MAX_YAML_VALUES

    def visit(item: Any, depth: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OverflowError(f'it expands to more than {MAX_YAML_VALUES} values')
        if depth > MAX_YAML_DEPTH:
            raise RecursionError
        if isinstance(item, dict):
            item = item.values()
        elif not isinstance(item, (list, tuple, set)):
            return
        for part in item:
            visit(part, depth + 1)

    visit(content, 0)


def _refuse_constant(name: str) -> float:
    raise ValueError(f'{name} is not a number that can be scored')


def parse_json(text: str, source: str) -> Any:
    """Return the value of a JSON text; `source` names it in messages.

    Raises:
        OceanGymError: It is not strict JSON (NaN and Infinity are refused too).
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except _PARSER_ERRORS as error:
        raise OceanGymError(f'{source} is not valid JSON: {_first_line(error)}') from error


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        OceanGymError: It is not readable as strict JSON.
    """
    return parse_json(read_text(path, MAX_JSON_BYTES), str(path))


def read_schema(path: Path, schema: type[SchemaT]) -> SchemaT:
    """Return a YAML file checked against a schema.

    Raises:
        OceanGymError: Names the file, the key, the value and what is accepted.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise OceanGymError(
            f'{path} must be a mapping with the keys {", ".join(schema.model_fields)}; '
            f'it holds {_short(content)}'
        )
    try:
        # As JSON, of which strict mode takes lists for tuples and mappings for dataclasses.
        return schema.model_validate_json(to_json(content))
    except ValidationError as error:
        raise schema_error(path, schema, error) from error
    except (ValueError, RecursionError) as error:
        raise OceanGymError(f'{path} is not accepted: {_first_line(error)}') from error


def schema_error(where: Path | str, schema: type[Schema], error: ValidationError) -> OceanGymError:
    """Return the error for content that a schema refuses.

    Args:
        where: The file, and the line where it has lines of its own.
        schema: What it was checked against.
        error: Names the key, the value and what is accepted.
    """
    problems = error.errors(include_url=False)
    # A misspelt key also shows as a missing one: the misspelling is what the person must see.
    problem = next((p for p in problems if p['type'] == 'extra_forbidden'), problems[0])
    location = problem['loc']
    key = '.'.join(str(part) for part in location)
    if problem['type'] == 'extra_forbidden':
        allowed = _fields_at(schema, location[:-1])
        return OceanGymError(f'{where}: {unknown_name("key", str(location[-1])[:80], allowed)}')
    if problem['type'] == 'missing':
        return OceanGymError(f'{where}: key {key!r} is missing')
    message = problem['msg'].removeprefix('Value error, ')
    if not key:
        # About several keys at once; the message names them.
        return OceanGymError(f'{where}: {message}')
    shown = '' if isinstance(problem['input'], dict) else f' is {_short(problem["input"])}'
    return OceanGymError(f'{where}: {key[:200]}{shown}: {message}')


def _fields_at(schema: type[Schema], location: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the (nested) schema at an error's location."""
    current: type[BaseModel] = schema
    for part in location:
        field = current.model_fields.get(str(part))
        candidates = (
            [field.annotation, *getattr(field.annotation, '__args__', ())] if field else []
        )
        for candidate in candidates:
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                current = candidate
                break
    return list(current.model_fields)


def _short(value: object) -> str:
    return reprlib.repr(value)[:120]


def _first_line(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return 'it is nested too deeply'
    return ' '.join(str(error).split())[:300] or type(error).__name__


def is_utf8(text: str) -> bool:
    """Tell whether a text can be written as UTF-8; the name of a file need not be."""
    return utf8_text(text) == text


def utf8_text(text: str) -> str:
    """Return a text that can be written as UTF-8: lone surrogates, which JSON may hold, replaced."""
    return text.encode('utf-8', 'replace').decode('utf-8')


def write_atomic(path: Path, text: str) -> None:
    """Write a whole file so that a reader or a crash sees either the old or the new content."""
    temporary = path.with_name(f'.{path.name}.partial')
    try:
        with temporary.open('w', encoding='utf-8') as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OceanGymError(f'cannot write {path}: {error.strerror}') from error
