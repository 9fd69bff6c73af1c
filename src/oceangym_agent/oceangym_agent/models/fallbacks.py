"""Changes to a request that an endpoint has refused for one of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import json
import re
from typing import Any

import openai

# Statuses with which parameters are refused: OpenAI and most 400, FastAPI servers 422.
_STATUSES = (400, 422)
_REFUSED = re.compile(
    r'unsupported|not.{0,3}support|unrecognized|unknown|unexpected|not permitted|not allowed'
    r'|extra (?:inputs|fields)|invalid|unavailable|not available|\bonly\b|cannot (?:both )?be'
    r'|deprecated|does not (?:accept|allow)|instead|must be|should be|out of range',
    re.IGNORECASE,
)
# Of a value, not of the parameter: another name for it would not help.
_TOO_LARGE = re.compile(r'too (?:large|high|many)|at most|maximum|less than|exceed', re.IGNORECASE)
_OTHER_NAME = {
    'max_tokens': 'max_completion_tokens',
    'max_completion_tokens': 'max_tokens',
}
_LEFT_OUT = ('temperature', 'top_p', 'seed', 'reasoning_effort', 'stream')


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """One change of a request: `edit` says which, in words for a record."""

    parameter: str
    edit: str
    value: Any = None

    def applied(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request's members with the change made; unchanged where it does not apply."""
        if self.parameter not in body:
            return dict(body)
        changed = {key: value for key, value in body.items() if key != self.parameter}
        if self.parameter in _OTHER_NAME:
            changed[_OTHER_NAME[self.parameter]] = body[self.parameter]
        elif self.value is not None:
            changed[self.parameter] = self.value
        return changed


def fallback_for(
    error: BaseException, body: Mapping[str, Any], made: tuple[Fallback, ...]
) -> Fallback | None:
    """Return the change that an endpoint's refusal asks for, None where it asks for none.

    Args:
        error: What the attempt raised.
        body: The request's members as sent.
        made: Changes made before; a parameter that was renamed is not renamed back.
    """
    if not isinstance(error, openai.APIStatusError) or error.status_code not in _STATUSES:
        return None
    said = error.body
    words = said if isinstance(said, str) else json.dumps(said, default=str)
    if not _REFUSED.search(words):
        return None
    named = said.get('param') if isinstance(said, Mapping) else None
    parameter = named if isinstance(named, str) and named in body else _mentioned(words, body)
    if parameter is None:
        return None
    if parameter in _OTHER_NAME:
        known = any(f.parameter in _OTHER_NAME for f in made)
        if known or _TOO_LARGE.search(words):
            return None
        return Fallback(
            parameter=parameter, edit=f'{parameter} was sent as {_OTHER_NAME[parameter]}'
        )
    if parameter == 'response_format':
        if body[parameter].get('type') == 'json_schema':
            value = {'type': 'json_object'}
            return Fallback(
                parameter=parameter, value=value, edit='response_format asked for any JSON object'
            )
        return Fallback(parameter=parameter, edit='response_format was left out')
    if parameter in _LEFT_OUT:
        return Fallback(parameter=parameter, edit=f'{parameter} was left out')
    return None


def _mentioned(words: str, body: Mapping[str, Any]) -> str | None:
    """Return the sent parameter that a message names first."""
    candidates = {*_OTHER_NAME, *_LEFT_OUT, 'response_format'} & set(body)
    places = {
        name: match.start()
        for name in candidates
        if (match := re.search(rf'(?<![a-z_]){name}(?![a-z_])', words))
    }
    if 'response_format' in candidates and (match := re.search('json_schema|json_object', words)):
        places.setdefault('response_format', match.start())
    return min(places, key=places.__getitem__) if places else None
