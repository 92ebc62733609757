"""What may go wrong in a run that is sound all the same.

It imports nothing: whoever only reads accounts needs no ZooKeeper client.
"""

REPLACED_MAX = 2  # clients; beyond that it is no accident of one
