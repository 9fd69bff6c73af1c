"""A rate limit that all processes of this machine share for one model at one endpoint."""

from __future__ import annotations

from collections.abc import Callable
import fcntl
import hashlib
import os
from pathlib import Path
import tempfile
import time

from oceangym_agent.models.presets import ModelPreset
from oceangym_core.errors import OceanGymError

# No state is believed that asks for a longer wait: it is left over from a changed clock [s].
LONGEST_QUEUE_S = 3600.0


class RateLimiter:
    """Spaces requests evenly: each takes the next free turn, whichever process asks.

    The state is one number in a file under a lock, the time of the next free turn, so that a killed
    worker leaves nothing behind.
    """

    def __init__(
        self,
        path: Path,
        *,
        requests_per_minute: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use a state file, which is made where it does not exist.

        Args:
            path: Of the state, the same for all workers.
            requests_per_minute: Of all workers together.
            clock: Time that all processes share [s].

        Raises:
            OceanGymError: The file cannot be made.
        """
        self._path = path
        self._interval_s = 60.0 / requests_per_minute
        self._clock = clock
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
        except OSError as error:
            raise OceanGymError(
                f'cannot keep the rate limit of the model in {path}: {error.strerror}; set TMPDIR to '
                'a folder that can be written'
            ) from error

    @classmethod
    def of(cls, preset: ModelPreset, base_url: str) -> RateLimiter | None:
        """Return the limiter of a preset's endpoint, None where it names no limit."""
        if preset.requests_per_minute is None:
            return None
        name = hashlib.sha256(f'{base_url} {preset.model}'.encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f'oceangym-rate-limits-{os.getuid()}'
        return cls(folder / name, requests_per_minute=preset.requests_per_minute)

    def take(self, *, longest_s: float) -> float | None:
        """Take the next free turn and return the wait until then [s].

        Returns:
            None, with no turn taken, if the wait would be longer than `longest_s`.
        """
        return self._update(lambda turn, now: turn + self._interval_s, longest_s=longest_s)

    def hold(self, duration_s: float) -> None:
        """Give no turn for a time [s]: the endpoint has said that it has no room."""
        self._update(lambda turn, now: max(turn, now + min(duration_s, LONGEST_QUEUE_S)))

    def _update(
        self, following: Callable[[float, float], float], *, longest_s: float = LONGEST_QUEUE_S
    ) -> float | None:
        """Replace the time of the next free turn; return the wait until the one it had."""
        with self._path.open('r+', encoding='ascii') as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            now = self._clock()
            try:
                stored = float(stream.read() or 0.0)
            except ValueError:
                stored = 0.0
            turn = max(now, stored if stored <= now + LONGEST_QUEUE_S else now)
            if turn - now > longest_s:
                return None
            stream.seek(0)
            stream.write(f'{following(turn, now):.6f}')
            stream.truncate()
        return turn - now
