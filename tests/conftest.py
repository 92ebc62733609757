"""Hypothesis without deadlines: two shared cores make any single example slow now and then."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("strandline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("strandline")
