"""``python -m oceangym``: the command line, quiet also where it is interrupted while it loads."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import sys

EXIT_ERROR = 1
EXIT_CANCELLED = 130


def main() -> int:
    """Load the command line, which takes a second or more, and run it."""
    # What loads may take a Ctrl-C for an error of its own, or print it.
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(EXIT_CANCELLED))
    try:
        Path.cwd()
    except OSError:
        # Half of what is loaded asks for it, and fails in its own words.
        print(
            'error: the current directory no longer exists; cd to one that does', file=sys.stderr
        )
        return EXIT_ERROR
    try:
        from oceangym.cli import main as run

        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return EXIT_CANCELLED
    except BrokenPipeError:
        # The reader of a pipe has gone; the interpreter would try to write the rest once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_ERROR


if __name__ == '__main__':
    sys.exit(main())
