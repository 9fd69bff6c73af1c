"""What can go wrong with a call to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class FaultKind(str, Enum):
    """What can go wrong with a call."""

    RATE_LIMIT = 'rate_limit'  # 429
    OUT_OF_CREDIT = 'out_of_credit'  # 429 that no waiting cures
    SERVER_ERROR = 'server_error'  # 500
    OVERLOADED = 'overloaded'  # 503
    AUTH = 'auth'  # 401
    FORBIDDEN = 'forbidden'  # 403
    NOT_FOUND = 'not_found'  # 404
    BAD_REQUEST = 'bad_request'  # 400
    REDIRECT = 'redirect'  # 307
    HANG = 'hang'  # accepts the request and never answers
    RESET = 'reset'  # TCP reset instead of an answer
    RESET_MIDWAY = 'reset_midway'  # TCP reset in the middle of the body
    DRIP = 'drip'  # a byte of the body now and then
    DRIP_HEADERS = 'drip_headers'  # a byte of the headers now and then
    EMPTY = 'empty'  # content ''
    NULL = 'null'  # content null
    NO_CHOICES = 'no_choices'
    REFUSAL = 'refusal'
    FILTERED = 'filtered'  # finish reason content_filter, no text
    LENGTH = 'length'  # the reply's JSON is cut, finish reason length
    TRUNCATED_BODY = 'truncated_body'  # the response's JSON is cut
    REPETITION = 'repetition'  # the model repeats itself
    HUGE = 'huge'  # a reply of 1 MiB
    ENDLESS = 'endless'  # a body without end
    WRONG_CONTENT_TYPE = 'wrong_content_type'  # an HTML page, status 200
    NO_USAGE = 'no_usage'
    ERROR_IN_BODY = 'error_in_body'  # status 200 and an error object
    ECHO_KEY = 'echo_key'  # a 400 that repeats the request's Authorization header
    ECHO_KEY_REPLY = 'echo_key_reply'  # a reply that repeats it
    RESPONSE = 'response'  # any other HTTP response, as the fault describes it


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        retry_after: Header of a 429 or 503, as sent; None for none.
        pace_s: Between two bytes of a drip [s].
        text: The reply of a fault that a script returns.
        status, headers, content_type: Of a RESPONSE.
        body: Of a RESPONSE: given the completion that would have been sent, bytes and texts as they
            are, anything else as JSON.
    """

    kind: FaultKind
    text: str = ''
    retry_after: str | None = None
    pace_s: float = 0.05
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = 'application/json'
    body: Callable[[dict[str, Any]], Any] = lambda completion: completion


# Status, message and code of the faults that are plain HTTP errors.
STATUSES = {
    FaultKind.RATE_LIMIT: (429, 'Rate limit reached.', 'rate_limit_exceeded'),
    FaultKind.OUT_OF_CREDIT: (429, 'You exceeded your current quota.', 'insufficient_quota'),
    FaultKind.SERVER_ERROR: (500, 'Internal error.', 'server_error'),
    FaultKind.OVERLOADED: (503, 'Overloaded.', 'overloaded'),
    FaultKind.AUTH: (401, 'Incorrect API key provided.', 'invalid_api_key'),
    FaultKind.FORBIDDEN: (403, 'Your country is not supported.', 'forbidden'),
    FaultKind.NOT_FOUND: (404, 'The model does not exist.', 'model_not_found'),
    FaultKind.BAD_REQUEST: (400, 'Unsupported parameter.', 'invalid_request_error'),
    FaultKind.REDIRECT: (307, 'Moved.', 'moved'),
}
# Faults that do not survive as an HTTP response.
BELOW_PROTOCOL = frozenset(
    {
        FaultKind.HANG,
        FaultKind.RESET,
        FaultKind.RESET_MIDWAY,
        FaultKind.DRIP,
        FaultKind.DRIP_HEADERS,
        FaultKind.ENDLESS,
    }
)
