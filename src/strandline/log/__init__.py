"""The log on disk: segments, sparse indexes, recovery, retention, compaction. All files go through `filesystem`."""
