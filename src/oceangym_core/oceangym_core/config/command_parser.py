"""The parser of verbs with flags."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from oceangym_core.errors import OceanGymError, unknown_name


class CommandParser(argparse.ArgumentParser):
    """Refuses with a message that says what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Raise what the command line prints.

        Raises:
            OceanGymError: Always.
        """
        unknown = re.search(r'unrecognized arguments: (--[^\s=]+)', message)
        if unknown:
            flags = [flag for flag in self._option_string_actions if flag.startswith('--')]
            raise unknown_name('flag', unknown.group(1), flags)
        raise OceanGymError(f'{self.prog}: {message}. See {self.prog} --help')
