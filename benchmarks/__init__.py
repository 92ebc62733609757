"""What the broker and the log cost beside the bare system calls (`make bench`, or `python -m benchmarks`).

Speeds of one machine on one day say little, ratios say more. So every row that has a raw twin runs both in the same
process, in turns of a few milliseconds each: what disturbs one disturbs the other. Rows give the median over all turns
and the spread (half the range between the quartiles). CPU time stands beside wall time, because neighbours on shared
cores lengthen the second and hardly the first.

Nothing here is a test: tests never measure time.
"""
