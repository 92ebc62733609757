"""What a package that is missing is installed with. Strandline is on no registry: it is installed from its checkout."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    return f"in Strandline's checkout run `pip install -e '.[{extra}]'`"
