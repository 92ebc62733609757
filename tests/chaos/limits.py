"""What may go wrong in a run that is sound all the same, and what must have gone right or it proves nothing.

It imports nothing: whoever only reads accounts needs no ZooKeeper client.
"""

REPLACED_MAX = 2  # clients; beyond that it is no accident of one

# A minute of a run that is sound has ten times as much of each: some 90 transactions that are written, 10 or more that
# are aborted, and 100 commits of groups. Half of all that is acknowledged is copies. None need be aborted in less than
# a minute: a writer aborts one in ten, by chance.
WRITTEN_PER_MINUTE_MIN = 6
ABORTED_PER_MINUTE_MIN = 1
GROUP_COMMITS_PER_MINUTE_MIN = 6
COPIED_SHARE_MIN = 0.05
