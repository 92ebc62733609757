"""The transaction coordinator, pure: commands in, decisions out; no clock, no IO, no chance. Start with `shard`."""
