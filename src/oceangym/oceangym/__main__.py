"""``python -m oceangym``: the command line, quiet also where it is interrupted while it loads."""

from __future__ import annotations

import sys

EXIT_CANCELLED = 130


def main() -> int:
    """Load the command line, which takes a second or more, and run it."""
    try:
        from oceangym.cli import main as run

        return run()
    except KeyboardInterrupt:
        return EXIT_CANCELLED


if __name__ == '__main__':
    sys.exit(main())
