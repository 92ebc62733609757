"""What clients saw of a cluster, and whether it could have been Kafka.

A history is a list of operations (`operations`), one line of JSON each (`lines`): who sent, read, committed what,
from when to when, and how it ended. `checker.check` looks for anomalies in it; `recording` writes histories of real
clients. The checker knows nothing of brokers: the same history may come from Strandline, from Apache Kafka or from a
simulator.

**Three outcomes.** `ok` happened. `fail` did not happen, and never will. `unknown` may have happened, may happen
later, or never: a timeout says nothing about the log. An unknown send that somebody read did happen; an unknown
commit of a transaction did if a reader of committed records saw one of its records. Nothing is ever held against the
rest.

**Values are unique** in their topic: by its value a record that was read is known to be the one that was sent.
A value that was sent twice is left out of what goes by values, and counted; a record of it is known by where one of
them was acknowledged.

**The order of a partition** is that of its offsets, of records that were read or acknowledged. Offsets need not be
dense: markers of transactions take some, retention and compaction take records away.

**Order in time.** Operations of one process are in the order in which they began. Times of two processes are compared
only if they name the same clock; then what ended before something else began came before it.
"""
