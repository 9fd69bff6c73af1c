"""Layouts whose seeds are kept in a private file; a benchmark file publishes only the file's hash."""

from __future__ import annotations

import hashlib
from pathlib import Path
import secrets

from oceangym_core.config.arguments import MAX_SEED
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_text

MAX_LAYOUTS = 50
_MAX_BYTES = 64 * 1024
# Seeds below this can be found by trying them all.
_LEAST_SEED = 2**60


def layout_label(world_seed: int) -> str:
    """Return what tables call a layout: ``released``, or h and the beginning of its seed's hash.

    The label tells layouts apart and is the same in every file, but does not give the seed away.
    """
    if world_seed == 0:
        return 'released'
    return 'h' + hashlib.sha256(f'oceangym layout {world_seed}'.encode()).hexdigest()[:6]


def new_seeds_text(count: int) -> str:
    """Return a seeds file with seeds drawn from the system's entropy."""
    seeds = [_LEAST_SEED + secrets.randbelow(MAX_SEED - _LEAST_SEED) for _ in range(count)]
    head = '# World seeds of hidden layouts, one a line. Keep this file private; publish its SHA-256.\n'
    return head + ''.join(f'{seed}\n' for seed in seeds)


def write_seeds(path: Path, count: int) -> str:
    """Write a new seeds file that only its owner can read and return its SHA-256.

    Raises:
        OceanGymError: The file exists or cannot be written.
    """
    text = new_seeds_text(count)
    try:
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(text.encode())
    except FileExistsError:
        raise OceanGymError(f'{path} exists and is kept; give --out another name') from None
    except OSError as error:
        raise OceanGymError(f'{path} cannot be written: {error.strerror}') from None
    return hashlib.sha256(text.encode()).hexdigest()


def read_seeds(path: Path, sha256: str) -> tuple[int, ...]:
    """Return the seeds of a private file.

    Raises:
        OceanGymError: The file is another than the one whose hash was published, or is no seeds file.
    """
    text = read_text(path, _MAX_BYTES)
    found = hashlib.sha256(text.encode()).hexdigest()
    if found != sha256:
        raise OceanGymError(
            f'{path} has SHA-256 {found}, but world_seeds_sha256 is {sha256}: it holds other layouts. '
            'Give the file that belongs to the benchmark, or publish the hash of yours in a copy of '
            'the benchmark file with a name of its own'
        )
    lines = [line.partition('#')[0].strip() for line in text.splitlines()]
    words = [line for line in lines if line]
    for word in words:
        # int() reads more than the digits of a seed: signs, underscores, other scripts.
        if not (word.isascii() and word.isdigit() and 0 < int(word[:20]) <= MAX_SEED):
            raise OceanGymError(
                f'{path}: {word[:40]!r} is no seed; wanted 1 to {MAX_SEED}, one a line'
            )
    seeds = tuple(int(word) for word in words)
    if not 0 < len(seeds) <= MAX_LAYOUTS or len(set(seeds)) != len(seeds):
        raise OceanGymError(
            f'{path} must hold 1 to {MAX_LAYOUTS} different seeds; it holds {len(seeds)}'
        )
    return seeds
