"""An HTTP server that speaks the chat-completions protocol: scripted replies, and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import select
import socket
import struct
import threading
from types import TracebackType
from typing import Any

from oceangym_agent.scripted_models.completions import usage
from oceangym_agent.scripted_models.faults import BELOW_PROTOCOL, Fault, FaultKind, STATUSES

HOST = '127.0.0.1'
MAX_REQUEST_BYTES = 256 * 1024 * 1024
# How often a silent connection looks whether the server stops or the client has gone [s].
POLL_S = 0.02
ENDPOINT = '/v1/chat/completions'
MODELS = '/v1/models'
HUGE_REPLY_CHARS = 1024 * 1024

# A pure function of the request's JSON and its number (from 0): the reply's text, or a fault.
Script = Callable[[Mapping[str, Any], int], 'str | Fault']


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One request as it arrived; the Authorization header is kept only where asked for.

    Attributes:
        headers: Names in lower case.
        body: Decoded JSON, None where there was none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any = field(repr=False)


class ScriptedModelServer:
    """Serves chat completions on this machine; a context manager."""

    def __init__(
        self,
        *,
        script: Script,
        faults: Mapping[int, Fault] | Fault | None = None,
        key: str | None = None,
        keep_requests: bool = True,
        keep_keys: bool = False,
        model: str = 'scripted',
    ) -> None:
        """Prepare a server; `start` or entering it opens the port.

        Args:
            script: Gives the replies.
            faults: Call number (from 0) -> what goes wrong with it; one fault for every call.
            key: The only key that is let in; None lets in any, and none.
            keep_requests: Record requests; one of a dozen images takes a megabyte.
            keep_keys: Record Authorization headers too.
            model: The model id that replies name.
        """
        self._script = script
        self._faults = faults
        self._key = key
        self._keep_requests = keep_requests
        self._keep_keys = keep_keys
        self._model = model
        self._lock = threading.Lock()
        self._requests: list[RecordedRequest] = []
        self._calls = 0
        self._http: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> ScriptedModelServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Open a free port and serve from a thread."""
        self._http = _Server(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={'poll_interval': POLL_S},
            name='model-server',
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop serving; calls under way, hanging ones too, are cut off."""
        http, thread = self._http, self._thread
        self._http = self._thread = None
        if http is not None and thread is not None:
            http.stop()
            thread.join()

    @property
    def url(self) -> str:
        """Base URL for clients."""
        if self._http is None:
            raise RuntimeError('the model server is not running')
        return f'http://{HOST}:{self._http.server_address[1]}/v1'

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Requests so far, in order of arrival; empty where they are not kept."""
        with self._lock:
            return tuple(self._requests)

    @property
    def calls(self) -> int:
        """Chat completions asked for so far."""
        return self._calls

    def record(self, request: RecordedRequest) -> int:
        """Keep a request, where asked for; its number among the calls."""
        headers = request.headers
        if not self._keep_keys:
            headers = {k: v for k, v in headers.items() if k not in ('authorization', 'api-key')}
        with self._lock:
            if self._keep_requests:
                self._requests.append(replace(request, headers=headers))
            number = self._calls
            self._calls += request.method == 'POST' and request.path == ENDPOINT
        return number

    def lets_in(self, authorization: str) -> bool:
        """Return whether a request may ask."""
        return self._key is None or authorization == f'Bearer {self._key}'

    def answer(self, body: Mapping[str, Any], number: int) -> tuple[str, Fault | None]:
        """Return the script's text for a call, and what goes wrong with it."""
        said = self._script(body, number)
        if isinstance(said, Fault):
            return said.text, said
        fault = self._faults
        return said, fault if fault is None or isinstance(fault, Fault) else fault.get(number)

    @property
    def model(self) -> str:
        """The model id that replies name."""
        return self._model


class _Server(ThreadingHTTPServer):
    """Threads per connection that all end when the server stops."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: ScriptedModelServer) -> None:
        self.owner = owner
        self.stopping = threading.Event()
        self._open: dict[int, tuple[socket.socket, threading.Thread]] = {}
        self._guard = threading.Lock()
        super().__init__((HOST, 0), _Handler)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection until it closes."""
        with self._guard:
            self._open[id(request)] = (request, threading.current_thread())
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._guard:
                self._open.pop(id(request), None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what this server is for."""

    def stop(self) -> None:
        """Stop accepting, cut open connections and wait for their threads."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        with self._guard:
            left = list(self._open.values())
        for connection, thread in left:
            with contextlib.suppress(OSError):  # closed meanwhile
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=5.0)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    protocol_version = 'HTTP/1.1'
    server: _Server
    # Headers and body in one segment: delayed acknowledgements would add 40 ms to a call.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer the list of models."""
        self._record(None)
        if self.path == MODELS:
            entry = {'id': self.server.owner.model, 'object': 'model', 'owned_by': 'oceangym'}
            self._json(200, {'object': 'list', 'data': [entry]})
        else:
            self._error(404, f'no such path: {self.path}', 'not_found')

    def do_POST(self) -> None:
        """Answer a chat completion, or do what the fault says."""
        length = int(self.headers.get('content-length', '0') or 0)
        if not 0 <= length <= MAX_REQUEST_BYTES:
            self._error(413, 'the request is too large', 'too_large')
            return
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            body = None
        number = self._record(body)
        if self.path != ENDPOINT:
            self._error(404, f'no such path: {self.path}', 'not_found')
        elif not self.server.owner.lets_in(self.headers.get('authorization', '')):
            self._error(401, 'Incorrect API key provided.', 'invalid_api_key')
        elif not isinstance(body, dict) or not isinstance(body.get('messages'), list):
            self._error(400, 'the body must be JSON with messages', 'invalid_request')
        else:
            text, fault = self.server.owner.answer(body, number)
            if fault is None:
                self._json(200, self._completion(body, text))
            else:
                self._fail(fault, body, text)

    def _record(self, body: Any) -> int:
        return self.server.owner.record(
            RecordedRequest(
                method=self.command,
                path=self.path,
                headers={name.lower(): value for name, value in self.headers.items()},
                body=body,
            )
        )

    def _completion(
        self, body: Mapping[str, Any], text: str | None, **choice: Any
    ) -> dict[str, Any]:
        message = {'role': 'assistant', 'content': text, **choice.pop('message', {})}
        return {
            'id': 'chatcmpl-scripted',
            'object': 'chat.completion',
            'created': 0,
            'model': self.server.owner.model,
            'choices': [{'index': 0, 'message': message, 'finish_reason': 'stop', **choice}],
            'usage': usage(body, text or ''),
        }

    def _fail(self, fault: Fault, body: Mapping[str, Any], text: str) -> None:
        kind = fault.kind
        if kind in STATUSES:
            status, message, code = STATUSES[kind]
            headers = {} if fault.retry_after is None else {'Retry-After': fault.retry_after}
            if kind is FaultKind.REDIRECT:
                headers['Location'] = f'http://{HOST}:9/v1/chat/completions'
            self._error(status, message, code, headers)
        elif kind is FaultKind.RESPONSE:
            content = fault.body(self._completion(body, text))
            if not isinstance(content, (bytes, str)):
                content = json.dumps(content)
            raw = content if isinstance(content, bytes) else content.encode()
            self._send(fault.status, raw, fault.content_type, fault.headers)
        elif kind in BELOW_PROTOCOL:
            self._break(fault, json.dumps(self._completion(body, text)).encode())
        elif kind is FaultKind.ECHO_KEY:
            self._error(400, f'bad header {self.headers.get("authorization")}', 'bad_request')
        elif kind is FaultKind.WRONG_CONTENT_TYPE:
            self._send(200, b'<html><body>Bad gateway</body></html>', 'text/html')
        elif kind is FaultKind.TRUNCATED_BODY:
            raw = json.dumps(self._completion(body, text)).encode()
            self._send(200, raw[: len(raw) // 2], 'application/json')
        elif kind is FaultKind.NO_CHOICES:
            self._json(200, {**self._completion(body, text), 'choices': []})
        elif kind is FaultKind.NO_USAGE:
            self._json(200, {**self._completion(body, text), 'usage': None})
        elif kind is FaultKind.ERROR_IN_BODY:
            self._json(200, {'error': {'message': 'upstream is busy', 'code': 'busy'}})
        else:
            self._json(200, self._distorted(kind, body, text))

    def _distorted(self, kind: FaultKind, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        """Return a well-formed response with a bad reply in it."""
        if kind is FaultKind.LENGTH:
            return self._completion(body, text[: len(text) // 2], finish_reason='length')
        if kind is FaultKind.FILTERED:
            return self._completion(body, None, finish_reason='content_filter')
        if kind is FaultKind.REFUSAL:
            return self._completion(body, None, message={'refusal': 'I cannot help with that.'})
        replies: dict[FaultKind, str | None] = {
            FaultKind.EMPTY: '',
            FaultKind.NULL: None,
            FaultKind.REPETITION: text + ' 699' * 2000,
            FaultKind.HUGE: text + ' ' + 'x' * (HUGE_REPLY_CHARS - len(text) - 1),
            FaultKind.ECHO_KEY_REPLY: f'{self.headers.get("authorization")} {text}',
        }
        return self._completion(body, replies[kind])

    def _break(self, fault: Fault, raw: bytes) -> None:
        """Fail below the protocol: the connection does not survive."""
        self.close_connection = True
        head = (
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
            b'Content-Length: %d\r\n\r\n' % len(raw)
        )
        if fault.kind is FaultKind.HANG:
            self._idle(None)
        elif fault.kind is FaultKind.RESET:
            self._reset()
        elif fault.kind is FaultKind.RESET_MIDWAY:
            self._drip(head + raw[: len(raw) // 2], pace_s=0.0)
            self._reset()
        elif fault.kind is FaultKind.DRIP:
            self._drip(head, pace_s=0.0)
            self._drip(raw, pace_s=fault.pace_s)
        elif fault.kind is FaultKind.DRIP_HEADERS:
            self._drip(head, pace_s=fault.pace_s)
        else:
            self._drip(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n', pace_s=0.0)
            while self._idle(0.0):
                self._drip(b' ' * 65536, pace_s=0.0)

    def _drip(self, raw: bytes, *, pace_s: float) -> None:
        if pace_s <= 0.0:
            self.connection.sendall(raw)
            return
        for value in raw:
            if not self._idle(pace_s):
                return
            self.connection.sendall(bytes([value]))

    def _idle(self, duration_s: float | None) -> bool:
        """Wait; False as soon as the server stops or the client has hung up."""
        waited = 0.0
        while duration_s is None or waited <= duration_s:
            step = POLL_S if duration_s is None else min(POLL_S, duration_s - waited)
            readable, _, _ = select.select([self.connection], [], [], 0.0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return False
            if self.server.stopping.wait(step):
                return False
            waited += max(step, 1e-6)
            if duration_s is not None and waited >= duration_s:
                break
        return True

    def _reset(self) -> None:
        """Close so that the client sees a reset instead of an end of file."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        # The handler's file holds the socket open too.
        self.rfile.close()
        self.connection.close()

    def _error(
        self, status: int, message: str, code: str, headers: Mapping[str, str] | None = None
    ) -> None:
        body = {'error': {'message': message, 'type': code, 'code': code, 'param': None}}
        self._json(status, body, headers)

    def _json(
        self, status: int, content: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._send(status, json.dumps(content).encode(), 'application/json', headers)

    def _send(
        self, status: int, raw: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        if kind:
            self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()
