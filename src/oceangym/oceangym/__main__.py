"""``python -m oceangym``: the command line, quiet also where it is interrupted while it loads."""

from __future__ import annotations

from pathlib import Path
import sys

EXIT_ERROR = 1
EXIT_CANCELLED = 130


def main() -> int:
    """Load the command line, which takes a second or more, and run it."""
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

        return run()
    except KeyboardInterrupt:
        return EXIT_CANCELLED


if __name__ == '__main__':
    sys.exit(main())
