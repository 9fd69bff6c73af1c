"""One self-contained HTML file from a template: everything inlined, everything foreign escaped."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
import hashlib
import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from oceangym_core.files import utf8_text

TEMPLATES = Path(__file__).parent / 'templates'

# Control characters have no place in HTML text; shown as their visible pictures they lose nothing.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in '\n\t'} | {
    0x7F: 0x2421,
    0xFEFF: 0x2423,
}
# Inside a script element only these end it or start a comment; in JSON they may all be escaped.
_JSON_ESCAPES = {
    ord('<'): '\\u003c',
    ord('>'): '\\u003e',
    ord('&'): '\\u0026',
    0x2028: '\\u2028',
    0x2029: '\\u2029',
}


def clean_text(text: str) -> str:
    """Return a text with control characters made visible and lone surrogates replaced."""
    return utf8_text(text.translate(_PICTURES))


def cut_text(text: str, limit: int) -> str:
    """Return a cleaned text of at most about `limit` characters, saying how much was left out."""
    if len(text) <= limit:
        return clean_text(text)
    left_out = len(text) - limit
    return f'{clean_text(text[:limit])}\n[... {left_out:,} further characters are in the record]'


def embedded_json(value: Any) -> Markup:
    """Return data for a ``<script type="application/json">`` element; no text can leave it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(',', ':'))
    return Markup(text.translate(_JSON_ESCAPES))


def shown(value: Any) -> str:
    """Return any value of the record as readable text."""
    if value is None or value == '':
        return '–'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:.10g}'
    if isinstance(value, Mapping):
        return ', '.join(f'{key} {shown(item)}' for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ', '.join(shown(item) for item in value)
    return str(value)


def fixed(value: float | None, digits: int = 1, unit: str = '') -> str:
    """Return a number with a fixed number of digits, or a dash."""
    if value is None:
        return '–'
    number = f'{value:,.{digits}f}'.replace('-', '−')
    return f'{number} {unit}' if unit else number


def _finalize(value: Any) -> Any:
    return clean_text(value) if type(value) is str else value


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters['fixed'] = fixed
    environment.filters['shown'] = shown
    environment.filters['json'] = embedded_json
    return environment


def render_page(template: str, *, script: str, **values: Any) -> str:
    """Return a whole page.

    The page's content security policy lets nothing be fetched and only this one script run, so
    that a text of the record could do nothing even if it were not escaped.

    Args:
        template: File in ``templates/``.
        script: File in ``templates/`` with the page's script.
        values: For the template.
    """
    code = (TEMPLATES / script).read_text(encoding='utf-8')
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    style = (TEMPLATES / 'page.css').read_text(encoding='utf-8')
    return (
        _environment()
        .get_template(template)
        .render(
            policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'",
            script=Markup(code),
            style=Markup(style),
            **values,
        )
    )
