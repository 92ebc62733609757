"""What may go wrong in a run that is sound all the same, and what must have gone right or it proves nothing.

It imports nothing: whoever only reads accounts needs no ZooKeeper client.
"""

REPLACED_MAX = 2  # clients; beyond that it is no accident of one

# A minute of a run that is sound has some 90 transactions that are written, and 100 commits of groups; on a machine
# that has much else to do, a tenth of that. Half of all that is acknowledged is copies. A writer aborts one in ten, by
# chance, so of few transactions perhaps none.
WRITTEN_PER_MINUTE_MIN = 3
ABORTED_SHARE_MIN = 0.01
GROUP_COMMITS_PER_MINUTE_MIN = 3
COPIED_SHARE_MIN = 0.05
