"""What went wrong with a call, whether to try again, and what a person can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
import json
import re
from urllib.parse import urlsplit

import openai

from oceangym_agent.models.presets import ModelPreset
from oceangym_agent.models.waits import reset_wait, stated_wait
from oceangym_agent.models.wire import brief, UnusableReply

# Shorter strings are placeholders such as 'EMPTY', and occur in ordinary text.
MIN_SECRET_CHARS = 8
# HTTP statuses that say "later": too many requests, overloaded, and Anthropic's overloaded.
_LATER = (429, 503, 529)
_PASSING_CODES = (408, 409, 425)
_OVERLOADED = re.compile(
    r'over.?loaded|at capacity|too many requests|rate.?limit|resource.?exhausted|server is busy'
    r'|upstream is busy|temporarily unavailable|currently unavailable|service unavailable'
    r'|engine is busy|no available (?:server|instance|channel)',
    re.IGNORECASE,
)
# A limit of a day, which no wait within an episode cures: OpenAI, Google, Groq, OpenRouter.
_DAILY = re.compile(r'per.?day|daily|\b[RT]PD\b|today', re.IGNORECASE)
_NO_CREDIT = re.compile(
    r'insufficient.?(?:quota|balance|funds|credit)|balance (?:is )?(?:insufficient|too low)'
    r'|billing.?(?:hard.?limit|not.?active)|(?:no|out of|not enough|add) credits?\b'
    r'|payment required|in arrears|余额不足|欠费',
    re.IGNORECASE,
)
# Words of limits of a minute as well, so that they count only where no wait is stated.
_PERHAPS_NO_CREDIT = re.compile(r'exceeded your current quota|billing|credits?\b', re.IGNORECASE)
_VERSION_SEGMENT = re.compile(r'/v\d+[a-z0-9]*(?:/|$)|/openai(?:/|$)|/compatible-mode')


class Retry(Enum):
    """Whether a failed attempt is repeated."""

    NEVER = 'never'
    COUNTED = 'counted'  # up to max_retries times
    UNTIL_DEADLINE = 'until_deadline'  # the endpoint has no room now


class AttemptTimeout(Exception):
    """One attempt took longer than it may."""


class ResponseTooLarge(Exception):
    """A response is larger than what is read."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed attempt.

    Attributes:
        message: What happened, without any key.
        retry: Whether trying again may help.
        wait_s: How long the endpoint asks to wait [s].
        reset_s: When its rate limits are full again [s]; an attempt before may succeed.
        remedy: What a person can do.
        tokens_in, tokens_out: What it cost all the same.
    """

    message: str
    retry: Retry
    wait_s: float | None = None
    reset_s: float | None = None
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
        return Failure(message=f'no complete answer in {timeout_s:.3g} s', retry=Retry.COUNTED)
    if isinstance(error, UnusableReply):
        return _unusable(error, preset=preset, base_url=base_url)
    if isinstance(error, ResponseTooLarge):
        return Failure(message=str(error), retry=Retry.COUNTED)
    if isinstance(error, openai.APIStatusError):
        body = error.body
        said = brief(body) if body else ''
        return _judged(
            error.status_code,
            f'HTTP {error.status_code}' + (f': {said}' if said else ''),
            headers=error.response.headers,
            body=body,
            preset=preset,
            base_url=base_url,
        )
    if isinstance(error, openai.APIConnectionError):
        cause = brief(str(error.__cause__ or error))
        return Failure(
            message=f'no connection ({cause})',
            retry=Retry.COUNTED,
            remedy=f'Is a server running at {base_url}? base_url:= points elsewhere.',
        )
    # The connection broke while the response was read, or the response breaks the protocol.
    return Failure(message=f'the connection failed ({brief(str(error))})', retry=Retry.COUNTED)


def _unusable(error: UnusableReply, *, preset: ModelPreset, base_url: str) -> Failure:
    """Judge a response of status 200: an error object in it counts as the status that it names."""
    if error.error is None:
        return Failure(
            message=str(error),
            retry=Retry.COUNTED,
            remedy=address_hint(base_url),
            tokens_in=error.tokens_in,
            tokens_out=error.tokens_out,
        )
    status = 500
    if isinstance(error.error, Mapping):
        named = [str(error.error.get(key, '')) for key in ('code', 'status')]
        status = next((int(s) for s in named if re.fullmatch('[45][0-9][0-9]', s)), status)
    elif 'unexpected endpoint' in str(error.error).lower():
        status = 404  # LM Studio's answer to a wrong path
    failure = _judged(
        status, str(error), headers={}, body=error.error, preset=preset, base_url=base_url
    )
    return replace(failure, tokens_in=error.tokens_in, tokens_out=error.tokens_out)


def _judged(
    status: int,
    message: str,
    *,
    headers: Mapping[str, str],
    body: object,
    preset: ModelPreset,
    base_url: str,
) -> Failure:
    """Return what an error status and its body mean."""
    words = json.dumps(body, default=str, ensure_ascii=False)[:20_000]
    wait = stated_wait(headers, body)
    spent = _spent(status, words, wait)
    if spent:
        return Failure(message=message, retry=Retry.NEVER, remedy=spent)
    # Google limits with 403, Amazon with 400.
    says_later = (status >= 500 or status in (400, 403)) and _OVERLOADED.search(words) is not None
    later = status in _LATER or says_later
    if status in (401, 403) and not later:
        return Failure(message=message, retry=Retry.NEVER, remedy=_key_remedy(preset))
    if later or status in _PASSING_CODES or status >= 500:
        retry = Retry.UNTIL_DEADLINE if later else Retry.COUNTED
        if headers.get('x-should-retry') == 'false':
            retry = Retry.NEVER
        return Failure(message=message, retry=retry, wait_s=wait, reset_s=reset_wait(headers))
    remedies = {
        300: f'{base_url} redirects: give the final address as base_url:=.',
        404: _not_found_remedy(words, preset=preset, base_url=base_url),
        413: 'The request is too large: lower image_size:= or memory_images:=.',
    }
    otherwise = (
        f'The endpoint does not accept the request: compare the preset {preset.id!r} with what it '
        'supports (json_mode, max_images, sampling parameters, context length).'
    )
    named = {300: 300, 404: 404, 405: 404, 413: 413}.get(300 if status < 400 else status)
    return Failure(
        message=message,
        retry=Retry.NEVER,
        remedy=otherwise if named is None else remedies[named],
    )


def _spent(status: int, words: str, wait: float | None) -> str:
    """Return the remedy where an account has nothing left to spend; empty where it has."""
    if status == 429 and _DAILY.search(words):
        return (
            'The quota of a day is used up: go on when it is renewed (the runs that are done are '
            'kept), or raise it at the provider.'
        )
    if (
        status == 402
        or (status in (403, 429, 500) and _NO_CREDIT.search(words))
        or (status == 429 and wait is None and _PERHAPS_NO_CREDIT.search(words))
    ):
        return 'The account has no credit left at this provider: add some, then go on.'
    return ''


def _not_found_remedy(words: str, *, preset: ModelPreset, base_url: str) -> str:
    model = f'Does {base_url} serve the model {preset.model!r}? Both are set in the preset.'
    hint = address_hint(base_url)
    named = preset.model in words or 'model' in words.lower()
    return model if named or not hint else hint


def address_hint(base_url: str) -> str:
    """Return what is probably wrong with an address that has no version in its path."""
    if _VERSION_SEGMENT.search(urlsplit(base_url).path):
        return ''
    return f'Is the address right? Most servers answer below /v1: base_url:={base_url}/v1'


def _key_remedy(preset: ModelPreset) -> str:
    if preset.api_key_env is None:
        return (
            f'The endpoint asks for a key, and the preset {preset.id!r} names none: '
            'set api_key_env in a copy of it.'
        )
    return f'Check the key in the environment variable {preset.api_key_env}.'
