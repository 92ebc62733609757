"""Amounts on the command line: of nothing, nothing is shown, so there is at least some."""

from __future__ import annotations

import argparse
from math import isfinite


def some(text: str) -> int:
    """A whole number from 1 on."""
    if not text.removeprefix("-").isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is too few: at least 1")
    return int(text)


def some_of_it(text: str) -> float:
    """Of what need not be whole: minutes, records a second."""
    try:
        amount = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a number") from None
    if not isfinite(amount) or amount <= 0:
        raise argparse.ArgumentTypeError(f"{text} is too little: more than 0")
    return amount
