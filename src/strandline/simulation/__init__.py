"""Twins of the outside world that can be made to fail on purpose, under a seed."""
