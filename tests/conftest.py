"""Hypothesis without deadlines: two shared cores make any single example slow now and then."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("strandline", deadline=None)
settings.load_profile("strandline")
