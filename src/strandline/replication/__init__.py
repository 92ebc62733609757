"""Replication of one partition: the leader, the follower, the in-sync replicas, where logs are cut. Pure."""
