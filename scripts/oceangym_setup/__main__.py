"""Run the command line: ``python3 -m oceangym_setup VERB``."""

import sys

from oceangym_setup.cli import main

sys.exit(main(sys.argv[1:]))
