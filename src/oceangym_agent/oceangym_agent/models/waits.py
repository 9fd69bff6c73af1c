"""How long an endpoint asks to wait, in headers and in bodies, as providers write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import datetime
import email.utils
import math
import re
import time

# In headers of a limit: at this count of requests or tokens it is reached.
_REMAINING = re.compile(r'^(.*ratelimit-)remaining(.*)$')
_DURATION = re.compile(
    r'(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?)'
)
_UNITS = {'ms': 1e-3, 'mi': 60.0, 's': 1.0, 'm': 60.0, 'h': 3600.0}
_WAIT_WORDS = re.compile(
    r'(?:retry|try again|wait|available again)\b[^.\d]{0,30}?'
    rf'((?:{_DURATION.pattern}\s*)+)',
    re.IGNORECASE,
)
# Members of error bodies that hold a wait: Google's RetryInfo, and others' own.
_WAIT_KEYS = {
    'retrydelay': 1.0,
    'retry_after': 1.0,
    'retry_after_seconds': 1.0,
    'retry_after_ms': 1e-3,
}
# Numbers above are points in time, in seconds or milliseconds since 1970, not waits.
_EPOCH_S, _EPOCH_MS = 1e9, 1e12


def stated_wait(headers: Mapping[str, str], body: object) -> float | None:
    """Return how long a response asks to wait [s], None where it does not say.

    Read are ``retry-after-ms``, ``retry-after`` in seconds or as an HTTP date (RFC 9110, 10.2.3),
    ``google.rpc.RetryInfo`` and similar members of the body, and words such as "retry in 8s".
    """
    wait = retry_after(headers)
    if wait is not None:
        return wait
    stated = [
        wait for key, value in _members(body) if (wait := _member_wait(key, value)) is not None
    ]
    return max(stated, default=None)


def reset_wait(headers: Mapping[str, str]) -> float | None:
    """Return when a limit is lifted by the ``x-ratelimit-reset-*`` headers [s], None where unsaid.

    That of a limit that is reached counts; of several whose rest is unknown, the shortest.
    """
    low = {name.lower(): value for name, value in headers.items()}
    resets: dict[str, float] = {}
    for name, value in low.items():
        if 'ratelimit-' in name and 'reset' in name and (wait := _reset(value)) is not None:
            resets[name] = wait
    reached = [
        wait
        for name, value in low.items()
        if (match := _REMAINING.match(name))
        and value.strip() == '0'
        and (wait := resets.get(f'{match[1]}reset{match[2]}')) is not None
    ]
    return max(reached) if reached else min(resets.values(), default=None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait of ``retry-after-ms`` or ``retry-after`` [s], None where there is none."""
    for name, unit in (('retry-after-ms', 1e-3), ('retry-after', 1.0)):
        try:
            seconds = float(headers.get(name, '')) * unit
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        moment = email.utils.parsedate_to_datetime(headers.get('retry-after', ''))
    except (TypeError, ValueError, OverflowError):
        return None
    return _until(moment)


def _until(moment: datetime.datetime) -> float:
    """Return the wait until a date [s]; a date is wall time, and so is what it is compared with."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, (moment - datetime.datetime.now(datetime.timezone.utc)).total_seconds())


def _members(body: object, depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield every key and value of an error body that is no object itself."""
    if depth > 6:
        return
    if isinstance(body, Mapping):
        for key, value in body.items():
            if isinstance(value, (Mapping, list)):
                yield from _members(value, depth + 1)
            else:
                yield str(key).lower(), value
    elif isinstance(body, list):
        for item in body[:50]:
            yield from _members(item, depth + 1)
    elif depth == 0:
        yield '', body


def _member_wait(key: str, value: object) -> float | None:
    unit = _WAIT_KEYS.get(key)
    if unit is not None:
        wait = _duration(str(value)) if isinstance(value, str) else None
        if wait is None and not isinstance(value, bool):
            try:
                wait = float(str(value)) * unit
            except ValueError:
                return None
        return wait if wait is not None and math.isfinite(wait) and wait >= 0 else None
    if 'ratelimit-reset' in key:
        return _reset(str(value))
    if isinstance(value, str) and (words := _WAIT_WORDS.search(value[:2000])):
        return _duration(words[1])
    return None


def _duration(text: str) -> float | None:
    """Return a duration such as ``8s``, ``6m0s`` or ``59.5 seconds`` [s]."""
    parts = _DURATION.findall(text.lower())
    if not parts:
        return None
    return sum(float(number) * (_UNITS.get(unit[:2]) or _UNITS[unit[0]]) for number, unit in parts)


def _reset(value: str) -> float | None:
    """Return the wait of a reset header: a duration, seconds, a date, or seconds since 1970."""
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        wait = _duration(value) if value[:1].isdigit() and '-' not in value else None
        if wait is not None:
            return wait
        try:
            return _until(datetime.datetime.fromisoformat(value.replace('Z', '+00:00')))
        except (ValueError, OverflowError):
            return None
    if not math.isfinite(number) or number < 0:
        return None
    if number >= _EPOCH_MS:
        number /= 1e3
    return max(0.0, number - time.time()) if number >= _EPOCH_S else number
