"""Run the command line: ``python3 -m oceangym_setup VERB``."""

import os
import signal
import sys

from oceangym_setup.cli import main


def run() -> None:
    """Run the command line and exit; a reader that has closed the pipe ends it quietly."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


if __name__ == '__main__':
    run()
