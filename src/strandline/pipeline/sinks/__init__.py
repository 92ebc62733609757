"""Sinks: each writes one micro-batch, and knows one that it has written before.

A batch is known by a `BatchKey`: Spark runs the same batch again after a crash, with the same records under the same
number. What a sink does not know, it writes; what it knows, it passes over.
"""
