"""One HTTP exchange that cannot outlast its time."""

from __future__ import annotations

from collections.abc import Callable
import queue
import threading
from typing import Any, cast, Generic, TypeVar

from oceangym_agent.models.failures import AttemptTimeout, ResponseTooLarge

# Far above any reply, and far below what would hurt: a server may send without end.
MAX_RESPONSE_BYTES = 16 * 1024 * 1024

ResultT = TypeVar('ResultT')


class Exchange(Generic[ResultT]):
    """Runs a blocking call in a thread of its own and stops waiting for it in time.

    Timeouts of HTTP clients count from the last byte: name resolution, and a server that sends a byte
    now and then, outlast them. The thread that is left behind ends with its connection.
    """

    def __init__(self, call: Callable[[threading.Event], ResultT]) -> None:
        """Prepare a call; it is given an event that tells it that nobody waits any more."""
        self._call = call
        self._abandoned = threading.Event()
        self._outcome: queue.SimpleQueue[tuple[ResultT | None, BaseException | None]]
        self._outcome = queue.SimpleQueue()

    def run(self, timeout_s: float) -> ResultT:
        """Return the call's result.

        Raises:
            AttemptTimeout: There is none after `timeout_s`.
        """
        threading.Thread(target=self._work, name='model-call', daemon=True).start()
        try:
            result, error = self._outcome.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            self._abandoned.set()
            raise AttemptTimeout from None
        if error is not None:
            raise error
        return cast(ResultT, result)

    def _work(self) -> None:
        try:
            self._outcome.put((self._call(self._abandoned), None))
        except BaseException as error:  # handed to the thread that waits
            self._outcome.put((None, error))


def read_response(response: Any, abandoned: threading.Event) -> bytes:
    """Return a streamed response's body.

    Raises:
        ResponseTooLarge: It is larger than MAX_RESPONSE_BYTES.
        AttemptTimeout: Nobody waits for it any more.
    """
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if abandoned.is_set():
            raise AttemptTimeout
        if len(body) > MAX_RESPONSE_BYTES:
            raise ResponseTooLarge(f'the response is larger than {MAX_RESPONSE_BYTES} bytes')
    return bytes(body)
