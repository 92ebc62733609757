"""Strandline beside Apache Kafka on one machine, in one run (`make compare`, or `python -m benchmarks.compare`).

The rules, so that nobody need believe us (docs/performance.md has the results):

- **Same clients.** One pool of client processes (`client.py`: librdkafka, or requests made once and sent as they are)
  drives all sides in turn. They know an address and a task, and not whose address it is.
- **Same topics**, made by the same calls with the same settings. Each side starts as its own start script starts it:
  Kafka with its `config/server.properties`, G1 and a heap of 1 GB; `strandline serve`. Nothing is tuned for one side.
- **Turns.** All sides run at once, and one works at a time. Who goes first changes from round to round, the first round
  of each load is thrown away, and before the first load each side has worked for a minute (`--warm-s`): the JVM has
  compiled most of what it will.
- **The broker's CPU time comes first**: of its process and what that has started, exact to the microsecond, whichever
  thread it was. Neighbours on shared cores lengthen everything else.
- **A rate counts where a broker was busy.** Where both sides' were for less than half a core, it is the client's.
- **Every row is kept**, also where we lose or fail, with the commit and the machine it was measured on. A figure is the
  median of its turns, a ratio the median of the ratios of each round, beside the range in which half of them lie.
"""
