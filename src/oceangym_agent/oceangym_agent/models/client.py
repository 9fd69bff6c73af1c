"""The client of every OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
from dataclasses import replace
import logging
import os
import threading
import time
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from oceangym_agent.chat import ChatReply, ChatRequest, ImagePart, ModelUnavailable, NoReply
from oceangym_agent.models.budget import Budget
from oceangym_agent.models.exchange import Exchange, read_response
from oceangym_agent.models.failures import AttemptTimeout, classify, Failure, Redactor, Retry
from oceangym_agent.models.fallbacks import Fallback, fallback_for
from oceangym_agent.models.presets import checked_url, ModelPreset
from oceangym_agent.models.pricing import cost
from oceangym_agent.models.rate_limit import RateLimiter
from oceangym_agent.models.wire import Answer, decode, parameters, parse_body, request_body
from oceangym_agent.scripted_models.scripts import script
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_core.errors import OceanGymError
from oceangym_core.rng import generator

_LOG = logging.getLogger(__name__)

# Waits between attempts double from the first to the last, less up to a quarter so that parallel
# episodes do not return all at once (the client library's own values).
FIRST_DELAY_S = 0.5
LAST_DELAY_S = 8.0
JITTER = 0.25
# The library insists on a key; servers that ask for none ignore it.
NO_KEY = 'none'
_LOOPBACK = ('localhost', '127.0.0.1', '::1')


class OpenAIModel:
    """A `ChatModel` over HTTP; use it as a context manager or `close` it.

    The key is read once, is sent as a bearer token and is shown nowhere.
    """

    def __init__(
        self,
        preset: ModelPreset,
        *,
        base_url: str,
        key: str | None,
        call_timeout_s: float,
        max_retries: int,
        budget: Budget | None = None,
        limiter: RateLimiter | None = None,
        on_close: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """Prepare calls; nothing is sent yet.

        Args:
            preset: The model.
            base_url: Of the endpoint.
            key: Secret, None where none is asked for.
            call_timeout_s: Wall time that one attempt may take [s].
            max_retries: Attempts after the first that a failure of the endpoint may take; what it
                refuses because it has no room now is tried again until the deadline.
            budget: Is told of every reply, and asked before every call.
            limiter: Gives every attempt its turn; None for no limit.
            on_close: Called once when the model is closed.
            clock: Steady time [s].
            wait: Sleeps for a time [s], and returns whether the model was closed meanwhile.
        """
        self._preset = preset
        self._base_url = base_url
        self._call_timeout_s = call_timeout_s
        self._max_retries = max_retries
        self._budget = budget
        self._limiter = limiter
        self._clock = clock
        self._redact = Redactor(key or '')
        self._closing = threading.Event()
        self._sleep = wait or self._closing.wait
        # What the endpoint has refused is left out of every further request.
        self._fallbacks: tuple[Fallback, ...] = ()
        self._warned: set[str] = set()
        self._stack = contextlib.ExitStack()
        if on_close is not None:
            self._stack.callback(on_close)
        self._jitter = generator(os.getpid(), 'backoff')
        self._connect = _connector(base_url, key)
        self._api: openai.OpenAI | None = None

    def __repr__(self) -> str:
        return f'OpenAIModel({self._preset.id!r}, base_url={self._base_url!r})'

    def __enter__(self) -> OpenAIModel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End a wait between attempts and give connections back; further calls fail."""
        self._closing.set()
        self._drop_connections()
        self._stack.close()

    @property
    def preset(self) -> ModelPreset:
        """The model's preset."""
        return self._preset

    @property
    def base_url(self) -> str:
        """Where requests go."""
        return self._base_url

    def connect(self) -> None:
        """Prepare connections without opening one.

        Raises:
            ImportError, ValueError, OSError: The environment asks for a proxy or certificates that
                cannot be used.
        """
        self._api = self._connect()

    def complete(self, request: ChatRequest, *, deadline_s: float) -> ChatReply:
        """Return the reply; its `problem` says where the endpoint marks it as not whole or it is empty.

        Args:
            request: What is asked.
            deadline_s: Wall time that this call may take with all its retries [s].

        Raises:
            ModelUnavailable: There was none within the deadline or the allowed retries.
            BudgetExhausted: The call may not be made.
        """
        self._check_images(request)
        self._check_budget()
        lost: list[Failure] = []
        try:
            return self._complete(request, lost, deadline_s=deadline_s)
        except NoReply as error:
            error.unusable = tuple(
                self._priced(ChatReply(text=self._redact(f.message), model=''), f) for f in lost
            )
            raise

    def _complete(
        self, request: ChatRequest, lost: list[Failure], *, deadline_s: float
    ) -> ChatReply:
        """Ask until there is a reply; failures that were billed are added to `lost`."""
        started = self._clock()
        body = request_body(self._preset, request)
        for fallback in self._fallbacks:
            body = fallback.applied(body)
        retries = counted = 0
        while True:
            self._take_turn(deadline_s - (self._clock() - started), retries=retries)
            left = deadline_s - (self._clock() - started)
            if self._closing.is_set():
                raise self._unavailable(None, retries=retries, why='the model is closed')
            if not left > 0:
                raise self._unavailable(None, retries=retries, why='no time is left for the call')
            outcome = self._attempt(request, body, timeout_s=min(self._call_timeout_s, left))
            if isinstance(outcome, Answer):
                break
            if isinstance(outcome, Fallback):
                self._fallbacks += (outcome,)
                body = outcome.applied(body)
            else:
                if outcome.tokens_in or outcome.tokens_out:
                    lost.append(outcome)
                    self._spend(self._priced(ChatReply(text='', model=''), outcome))
                    self._check_budget()
                left = deadline_s - (self._clock() - started)
                counted += outcome.retry is Retry.COUNTED
                self._wait(outcome, retries, counted=counted, left=left)
            retries += 1
        reply = ChatReply(
            text=self._redact(outcome.text),
            model=self._redact(outcome.model),
            problem=self._redact(outcome.problem),
            finish_reason=self._redact(outcome.finish_reason),
            parameters=parameters(self._preset, body),
            tokens_reasoning=outcome.tokens_reasoning,
            retries=retries,
            latency_s=self._clock() - started,
            notes=(*(f'request edited: {f.edit}' for f in self._fallbacks), *outcome.notes),
        )
        self._warn(reply)
        self._spend(self._priced(reply, outcome))
        if lost:
            note = f'tokens include {len(lost)} unusable replies before it'
            reply = replace(reply, notes=(*reply.notes, note))
        return self._priced(reply, outcome, *lost)

    def _warn(self, reply: ChatReply) -> None:
        """Log what is odd about a reply, each kind once an episode."""
        for oddity in (*reply.notes, reply.problem):
            if oddity and oddity not in self._warned:
                self._warned.add(oddity)
                _LOG.warning('%s: %s', self._preset.id, oddity)

    def _take_turn(self, left: float, *, retries: int) -> None:
        """Wait for the turn that a shared rate limit gives.

        Raises:
            ModelUnavailable: It lies beyond the deadline, or the model is closed meanwhile.
        """
        if self._limiter is None:
            return
        delay = self._limiter.take(longest_s=left)
        if delay is None:
            raise self._unavailable(
                None,
                retries=retries,
                why=f'requests_per_minute of the preset leaves no turn within {left:.3g} s; lower '
                'the number of workers or raise decision_deadline:=',
            )
        if delay > 0 and self._sleep(delay):
            raise self._unavailable(None, retries=retries, why='the model is being closed')

    def _priced(self, reply: ChatReply, *counted: Answer | Failure) -> ChatReply:
        """Return the reply with the tokens and the cost of responses."""
        tokens_in = sum(c.tokens_in for c in counted)
        tokens_out = sum(c.tokens_out for c in counted)
        price = cost(self._preset, tokens_in=tokens_in, tokens_out=tokens_out)
        return replace(reply, tokens_in=tokens_in, tokens_out=tokens_out, cost=price)

    def _check_budget(self) -> None:
        if self._budget is not None:
            self._budget.check()

    def _spend(self, reply: ChatReply) -> None:
        if self._budget is not None:
            self._budget.spend(reply)

    def _check_images(self, request: ChatRequest) -> None:
        count = sum(isinstance(p, ImagePart) for m in request.messages for p in m.parts)
        if count > self._preset.max_images:
            raise ModelUnavailable(
                f'the request holds {count} images and {self._preset.id!r} takes '
                f'{self._preset.max_images}; use memory_images:=0, sonar:=none or described, '
                'coverage:=none or text, or a preset with a higher max_images'
            )

    def _attempt(
        self, request: ChatRequest, body: Mapping[str, Any], *, timeout_s: float
    ) -> Answer | Failure | Fallback:
        """Ask once; the answer, why there is none, or how to ask instead."""
        api = self._api = self._api or self._connect()

        def ask(abandoned: threading.Event) -> tuple[bytes, str]:
            with api.chat.completions.with_streaming_response.create(
                **body, extra_body=self._preset.extra_body or None, timeout=timeout_s
            ) as response:
                kind = response.headers.get('content-type', '')
                return read_response(response, abandoned), kind

        try:
            raw, kind = Exchange(ask).run(timeout_s)
            return decode(parse_body(raw, kind), self._preset, request)
        except Exception as error:  # everything that a hostile server can make a library raise
            if isinstance(error, AttemptTimeout):
                # Ends the thread that still reads from the connection.
                self._drop_connections()
            outcome = fallback_for(error, body, self._fallbacks) or classify(
                error, preset=self._preset, base_url=self._base_url, timeout_s=timeout_s
            )
        # Outside the except block, so that no exception with the request's headers is chained.
        return outcome

    def _wait(self, failure: Failure, retries: int, *, counted: int, left: float) -> None:
        """Wait before the next attempt.

        Args:
            failure: Of the last one.
            retries: Attempts after the first so far.
            counted: Failures that `max_retries` bounds, this one included.
            left: Time to the deadline [s].

        Raises:
            ModelUnavailable: There is none.
        """
        if failure.retry is Retry.NEVER:
            raise self._unavailable(failure, retries=retries)
        if counted > self._max_retries:
            raise self._unavailable(failure, retries=retries, why=f'{retries + 1} attempts failed')
        delay = min(LAST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(retries, 16))
        delay *= 1.0 - JITTER * float(self._jitter.random())
        if failure.wait_s is not None:
            delay = max(delay, failure.wait_s)
        elif failure.reset_s is not None and failure.reset_s < left:
            delay = max(delay, failure.reset_s)
        if failure.retry is Retry.UNTIL_DEADLINE and self._limiter is not None:
            # It holds for every worker that asks this endpoint.
            self._limiter.hold(delay)
        if delay >= left:
            why = f'the next attempt would be in {delay:.3g} s, with {max(0.0, left):.3g} s left'
            raise self._unavailable(failure, retries=retries, why=why)
        _LOG.warning(
            '%s: %s; trying again in %.1f s',
            self._preset.id,
            self._redact(failure.message),
            delay,
        )
        if self._sleep(delay):
            raise self._unavailable(failure, retries=retries, why='the model is being closed')

    def _unavailable(
        self, failure: Failure | None, *, retries: int, why: str = ''
    ) -> ModelUnavailable:
        words = f'{self._preset.id} at {self._base_url} gave no usable answer'
        if why:
            words += f': {why}'
        if failure is not None:
            said = failure.message.rstrip('.')
            words += f'; last: {said}' if why else f': {said}'
            words += f'. {failure.remedy}' if failure.remedy else ''
        return ModelUnavailable(self._redact(words), retries=retries)

    def _drop_connections(self) -> None:
        api, self._api = self._api, None
        if api is not None:
            with contextlib.suppress(Exception):  # of connections that are already broken
                api.close()


def _connector(base_url: str, key: str | None) -> Callable[[], openai.OpenAI]:
    """Return what opens a client; the key lives in nothing but this function."""
    host = urlsplit(base_url).hostname or ''
    local = host in _LOOPBACK
    # Account identifiers in the environment are OpenAI's and nobody else's business.
    foreign = not (host == 'openai.com' or host.endswith('.openai.com'))
    headers: dict[str, Any] = {'Accept-Encoding': 'identity'}
    if foreign:
        headers |= {'OpenAI-Organization': openai.Omit(), 'OpenAI-Project': openai.Omit()}

    def connect() -> openai.OpenAI:
        return openai.OpenAI(
            api_key=key or NO_KEY,
            base_url=base_url,
            max_retries=0,
            default_headers=headers,
            # For what runs on this machine no proxy is asked, and without TLS no certificate read.
            http_client=httpx2.Client(
                trust_env=not local,
                verify=not local or base_url.startswith('https:'),
                follow_redirects=False,
            ),
        )

    return connect


def make_model(
    preset: ModelPreset,
    *,
    base_url: str = '',
    call_timeout_s: float = 60.0,
    max_retries: int = 3,
    budget: Budget | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], bool] | None = None,
) -> OpenAIModel:
    """Return a ready model; close it after use.

    A scripted preset starts its own model server on this machine, unless `base_url` is given.

    Args:
        preset: The model.
        base_url: Instead of the preset's.
        call_timeout_s: Wall time that one attempt may take [s].
        max_retries: Further attempts after failures other than "no room now".
        budget: Limits of the episode; the model counts its replies into it.
        environ: Where the key is looked up; the process's environment when not given.
        clock: Steady time [s].
        wait: Sleeps, see `OpenAIModel`.

    Raises:
        OceanGymError: The key is missing, an argument is out of range, or the environment names a
            proxy that cannot be used.
    """
    if not 0 < call_timeout_s < float('inf'):
        raise OceanGymError(f'call_timeout:={call_timeout_s} must be a number of seconds above 0')
    if max_retries < 0:
        raise OceanGymError(f'max_retries:={max_retries} must be 0 or more')
    try:
        address = checked_url(base_url) or preset.base_url
    except ValueError as error:
        # The address may hold a password: it is not repeated.
        raise OceanGymError(f'base_url:= cannot be used: {error}') from None
    key = _key(preset, os.environ if environ is None else environ)
    server = None
    if preset.scripted is not None and not base_url:
        # A long episode's images would fill the memory.
        server = ScriptedModelServer(
            script=script(preset.scripted), keep_requests=False, model=preset.model
        )
        server.start()
        address = server.url
    model = OpenAIModel(
        preset,
        base_url=address,
        key=key,
        call_timeout_s=call_timeout_s,
        max_retries=max_retries,
        budget=budget,
        limiter=RateLimiter.of(preset, address),
        on_close=server.close if server is not None else None,
        clock=clock,
        wait=wait,
    )
    try:
        model.connect()
    except (ImportError, ValueError, OSError) as error:
        model.close()
        raise _unconnectable(error) from None
    return model


def _unconnectable(error: Exception) -> OceanGymError:
    """Return what in the environment keeps the HTTP library from starting."""
    if isinstance(error, OSError):
        return OceanGymError(
            'the HTTP client cannot read its certificates; check the environment variables '
            f'SSL_CERT_FILE and SSL_CERT_DIR ({error})'
        )
    named = [
        name
        for name, value in os.environ.items()
        if name.lower() in ('all_proxy', 'https_proxy', 'http_proxy')
        and not value.lower().startswith(('http://', 'https://'))
        and '://' in value
    ]
    names = ' and '.join(named) or 'a proxy variable'
    # The value may hold a password: only its scheme is repeated.
    schemes = ', '.join(sorted({os.environ[name].partition('://')[0] for name in named}))
    return OceanGymError(
        f'the environment variable {names} names a proxy of kind {schemes or "unknown"!r}; models '
        'are reached through http:// and https:// proxies only. Unset it, or set it to the '
        "provider's HTTP proxy"
    )


def _key(preset: ModelPreset, environ: Mapping[str, str]) -> str | None:
    name = preset.api_key_env
    if name is None:
        return None
    key = environ.get(name, '').strip()
    if not key:
        raise OceanGymError(
            f'model {preset.id!r} needs a key: set the environment variable {name} '
            '(export it in the shell that starts this)'
        )
    if not key.isascii() or not key.isprintable() or ' ' in key:
        raise OceanGymError(
            f'the key in the environment variable {name} holds a space, a line break or a character '
            'that no key has; was more than the key copied?'
        )
    return key
