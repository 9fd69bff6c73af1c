"""What went wrong with a call, whether to try again, and what a person can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import datetime
import email.utils
import math

import openai

from oceangym_agent.models.presets import ModelPreset
from oceangym_agent.models.wire import brief, UnusableReply

# Shorter strings are placeholders such as 'EMPTY', and occur in ordinary text.
MIN_SECRET_CHARS = 8
_PASSING_CODES = (408, 409, 425, 429)
# Codes of a 429 that no waiting cures: the account is out of money.
_SPENT = ('insufficient_quota', 'billing_hard_limit_reached')


class AttemptTimeout(Exception):
    """One attempt took longer than it may."""


class ResponseTooLarge(Exception):
    """A response is larger than what is read."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed attempt.

    Attributes:
        message: What happened, without any key.
        retry: Trying again may help.
        retry_after_s: How long the endpoint asks to wait [s].
        remedy: What a person can do.
        tokens_in, tokens_out: What it cost all the same.
    """

    message: str
    retry: bool
    retry_after_s: float | None = None
    remedy: str = ''
    tokens_in: int = 0
    tokens_out: int = 0


class Redactor:
    """Takes a key out of texts that others will read."""

    def __init__(self, secret: str) -> None:
        self._secret = secret if len(secret) >= MIN_SECRET_CHARS else ''

    def __call__(self, text: str) -> str:
        """Return the text with every occurrence of the key replaced."""
        return text.replace(self._secret, '<key>') if self._secret else text


def classify(
    error: BaseException, *, preset: ModelPreset, base_url: str, timeout_s: float
) -> Failure:
    """Return what an attempt's exception means.

    Args:
        error: Raised by the client library, by reading the response or by decoding it.
        preset: Whose endpoint it was.
        base_url: As called.
        timeout_s: How long the attempt was allowed to take [s].
    """
    if isinstance(error, (AttemptTimeout, openai.APITimeoutError)):
        return Failure(message=f'no complete answer in {timeout_s:.3g} s', retry=True)
    if isinstance(error, UnusableReply):
        return Failure(
            message=str(error),
            retry=True,
            tokens_in=error.tokens_in,
            tokens_out=error.tokens_out,
        )
    if isinstance(error, ResponseTooLarge):
        return Failure(message=str(error), retry=True)
    if isinstance(error, openai.APIStatusError):
        return _status(error, preset=preset, base_url=base_url)
    if isinstance(error, openai.APIConnectionError):
        cause = brief(str(error.__cause__ or error))
        return Failure(
            message=f'no connection ({cause})',
            retry=True,
            remedy=f'Is a server running at {base_url}? base_url:= points elsewhere.',
        )
    # The connection broke while the response was read, or the response breaks the protocol.
    return Failure(message=f'the connection failed ({brief(str(error))})', retry=True)


def _status(error: openai.APIStatusError, *, preset: ModelPreset, base_url: str) -> Failure:
    status = error.status_code
    said = brief(error.body) if error.body else ''
    message = f'HTTP {status}' + (f': {said}' if said else '')
    code = error.code if isinstance(error.code, str) else ''
    if status in (401, 403):
        return Failure(message=message, retry=False, remedy=_key_remedy(preset))
    if status == 429 and code in _SPENT:
        return Failure(
            message=message, retry=False, remedy='The account has no credit left at this provider.'
        )
    if status in _PASSING_CODES or status >= 500:
        return Failure(
            message=message,
            retry=error.response.headers.get('x-should-retry') != 'false',
            retry_after_s=retry_after(error.response.headers),
        )
    remedies = {
        300: f'{base_url} redirects: give the final address as base_url:=.',
        404: f'Does {base_url} serve the model {preset.model!r}? Both are set in the preset.',
        413: 'The request is too large: lower image_size:= or memory_images:=.',
    }
    otherwise = (
        f'The endpoint does not accept the request: compare the preset {preset.id!r} with what it '
        'supports (json_mode, max_images, sampling parameters, context length).'
    )
    remedy = remedies.get(300 if status < 400 else status, otherwise)
    return Failure(message=message, retry=False, remedy=remedy)


def _key_remedy(preset: ModelPreset) -> str:
    if preset.api_key_env is None:
        return (
            f'The endpoint asks for a key, and the preset {preset.id!r} names none: '
            'set api_key_env in a copy of it.'
        )
    return f'Check the key in the environment variable {preset.api_key_env}.'


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how long a response asks to wait [s], None where it does not say.

    Read are ``retry-after-ms`` and ``retry-after`` in seconds or as an HTTP date (RFC 9110, 10.2.3).
    """
    for name, unit in (('retry-after-ms', 1e-3), ('retry-after', 1.0)):
        try:
            seconds = float(headers.get(name, '')) * unit
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        moment = email.utils.parsedate_to_datetime(headers.get('retry-after', ''))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.timezone.utc)
        # An HTTP date is wall time, so it can only be compared with the wall clock.
        wait = (moment - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, wait)
