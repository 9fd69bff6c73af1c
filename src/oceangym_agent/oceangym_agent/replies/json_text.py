"""JSON as models write it, mended: fences, single quotes, Python literals, trailing commas, cut ends.

Strict JSON reads as ``json.loads`` reads it. Every function goes through the text once, with bounded
look-ahead, so that the longest hostile text takes time in proportion to its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import re

from oceangym_agent.replies.limits import MAX_DEPTH

MAX_KEY = 80


class Cut:
    """Stands for a value that the end of the text cut off."""


CUT = Cut()

Scalar = str | float | bool | None


@dataclass(frozen=True)
class JsonObject:
    """An object with all its pairs in order: keys may come twice.

    Attributes:
        pairs: Keys as written.
        cut: The text ended before it was closed.
    """

    pairs: tuple[tuple[str, JsonValue], ...]
    cut: bool = False


@dataclass(frozen=True)
class JsonArray:
    """A list, tuple or set."""

    items: tuple[JsonValue, ...]
    cut: bool = False


JsonValue = JsonObject | JsonArray | Cut | str | float | bool | None


@dataclass(frozen=True, kw_only=True)
class Located:
    """A value and where in the text it stands."""

    value: JsonObject | JsonArray
    start: int
    end: int


class _Broken(Exception):
    """What looked like the start of JSON is not."""


_SKIP = re.compile(r'(?:\s|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*|\.\.\.)*', re.DOTALL)
_BARE_KEY = re.compile(r'[^\W\d][\w \-]{0,60}')
_BARE_VALUE = re.compile(r'[^,;{}\[\]\n"]{1,300}')
_CLOSING: dict[str, str] = {'{': '}', '[': ']', '(': ')'}
_QUOTES: dict[str, str] = {'"': '"', "'": "'", '“': '”', '‘': '’', '`': '`'}
# A quote ends a string only where something may follow it; others are part of the text.
_AFTER_VALUE = re.compile(r'\s*(?:[,}\])]|\Z|//|/\*)|[ \t]*\n\s*["\'}\]]')
_AFTER_KEY = re.compile(r'\s*:')
_ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(.))', re.DOTALL)
_SURROGATES = re.compile('[\ud800-\udbff][\udc00-\udfff]')
_LITERALS: dict[str, Scalar] = {
    'true': True,
    'false': False,
    'null': None,
    'none': None,
    'undefined': None,
    'nan': float('nan'),
    'infinity': float('inf'),
    '-infinity': float('-inf'),
}
_NUMBER = re.compile(r'[+-]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,10})?')


def find_objects(text: str) -> Iterator[Located]:
    """Yield the outermost objects in a text, mended."""
    position = text.find('{')
    while position >= 0:
        try:
            value, end = _Reader(text).container(position, 0)
        except _Broken:
            end = position + 1
        else:
            if isinstance(value, JsonObject) and value.pairs:
                yield Located(value=value, start=position, end=end)
        position = text.find('{', end)


def read_array(text: str) -> JsonArray | None:
    """Return the array that a whole text is; None if it is not one."""
    stripped = text.strip()
    if not stripped.startswith('['):
        return None
    try:
        value, end = _Reader(stripped).container(0, 0)
    except _Broken:
        return None
    return value if isinstance(value, JsonArray) and end >= len(stripped) else None


class _Reader:
    """Reads one value; every method returns it with the position behind it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def container(self, position: int, depth: int) -> tuple[JsonObject | JsonArray, int]:
        """Read an object, list or tuple whose bracket is at `position`."""
        if depth > MAX_DEPTH:
            raise _Broken
        opening = self._text[position]
        if opening == '{':
            return self._object(position + 1, depth)
        return self._array(position + 1, depth, _CLOSING[opening])

    def _object(self, position: int, depth: int) -> tuple[JsonObject, int]:
        pairs: list[tuple[str, JsonValue]] = []
        while True:
            position = self._next(position)
            if position >= len(self._text):
                return JsonObject(tuple(pairs), cut=True), position
            if self._text[position] == '}':
                return JsonObject(tuple(pairs)), position + 1
            key, position = self._key(position)
            if key is None:
                return JsonObject(tuple(pairs), cut=True), len(self._text)
            value, position = self._value(position, depth)
            pairs.append((key, value))

    def _array(self, position: int, depth: int, closing: str) -> tuple[JsonArray, int]:
        items: list[JsonValue] = []
        while True:
            position = self._next(position)
            if position >= len(self._text):
                return JsonArray(tuple(items), cut=True), position
            if self._text[position] == closing:
                return JsonArray(tuple(items)), position + 1
            if self._text[position] in '}])':
                raise _Broken
            value, position = self._value(position, depth)
            items.append(value)

    def _next(self, position: int) -> int:
        """Return where the next key, item or closing bracket stands; commas are optional."""
        position = self._skip(position)
        while position < len(self._text) and self._text[position] in ',;':
            position = self._skip(position + 1)
        return position

    def _skip(self, position: int) -> int:
        match = _SKIP.match(self._text, position)
        return match.end() if match else position

    def _key(self, position: int) -> tuple[str | None, int]:
        """Read a key and its colon; the key is None where the text ends within."""
        text = self._text
        quote = _QUOTES.get(text[position])
        if quote is not None:
            end = position + 1
            while True:
                end = text.find(quote, end, position + MAX_KEY)
                if end < 0:
                    if position + MAX_KEY >= len(text):
                        return None, len(text)
                    raise _Broken
                colon = _AFTER_KEY.match(text, end + 1)
                if colon is not None and not self._is_escaped(end, position):
                    return unescaped(text[position + 1 : end]), colon.end()
                if not text[end + 1 : end + MAX_KEY].strip() and end + MAX_KEY >= len(text):
                    return None, len(text)
                end += 1
        match = _BARE_KEY.match(text, position)
        if match is None:
            raise _Broken
        colon = _AFTER_KEY.match(text, match.end())
        if colon is None:
            if match.end() >= len(text):
                return None, len(text)
            raise _Broken
        return match.group().strip(), colon.end()

    def _value(self, position: int, depth: int) -> tuple[JsonValue, int]:
        position = self._skip(position)
        if position >= len(self._text):
            return CUT, position
        character = self._text[position]
        if character in _CLOSING:
            return self.container(position, depth + 1)
        if character in _QUOTES:
            return self._string(position)
        match = _BARE_VALUE.match(self._text, position)
        if match is None:
            raise _Broken
        bare, end = match.group(), match.end()
        closing = re.search(r'\)\s*$', bare) if character != '(' else None
        if closing is not None and '(' not in bare:
            bare, end = bare[: closing.start()], position + closing.start()
        if end >= len(self._text):
            return CUT, end
        return _scalar(bare.split('//')[0].split(' #')[0].strip()), end

    def _string(self, position: int) -> tuple[str | Cut, int]:
        text = self._text
        quote = _QUOTES[text[position]]
        if text.startswith(quote * 3, position):
            end = text.find(quote * 3, position + 3)
            return (CUT, len(text)) if end < 0 else (text[position + 3 : end], end + 3)
        end = position + 1
        while True:
            end = text.find(quote, end)
            if end < 0:
                return CUT, len(text)
            if not self._is_escaped(end, position) and _AFTER_VALUE.match(text, end + 1):
                return unescaped(text[position + 1 : end]), end + 1
            end += 1

    def _is_escaped(self, place: int, start: int) -> bool:
        """Tell whether an odd number of backslashes stands before `place`."""
        before = self._text[max(start, place - 50) : place]
        return (len(before) - len(before.rstrip('\\'))) % 2 == 1


def unescaped(text: str) -> str:
    """Return the text that a JSON string stands for."""
    if '\\' not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    # A pair of escaped surrogates is one character.
    return _SURROGATES.sub(
        lambda pair: pair.group().encode('utf-16', 'surrogatepass').decode('utf-16'),
        _ESCAPE.sub(replace, text),
    )


def _scalar(text: str) -> Scalar:
    low = text.lower()
    if low in _LITERALS:
        return _LITERALS[low]
    if _NUMBER.fullmatch(text):
        return float(text)
    return text
