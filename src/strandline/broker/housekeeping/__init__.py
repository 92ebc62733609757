"""What a broker does while nobody asks: retention, compaction, flushes, checkpoints, expiry, removal of files.

All of it is begun by timers in the thread that owns the logs. What waits for the disk runs in threads, from a snapshot
or on files that nobody else writes to, and comes back as an event. A stop waits for it: `housekeeping.Housekeeping`.
"""
