"""Strandline: Apache Kafka's replicated log in Python."""

__version__ = "0.1.0.dev0"
