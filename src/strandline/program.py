"""How to start this very `strandline` as another process, wherever the caller has gone since."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# -P: nothing in the current directory may take the place of a module.
START = f"import sys; sys.path.append({PACKAGE_FOLDER!r}); from strandline.cli.main import main; main()"
COMMAND = (sys.executable, "-P", "-c", START)


def serve_command(properties: Mapping[str, str], *flags: str) -> list[str]:
    """A broker with these settings."""
    options = [option for name, value in properties.items() for option in ("--set", f"{name}={value}")]
    return [*COMMAND, "serve", *flags, *options]
