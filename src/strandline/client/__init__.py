"""A small client of Kafka's protocol on asyncio, for followers, the command line and Spark.

From the bottom up: `connection.Connection` is one socket with requests under way; `cluster.Cluster` knows the brokers
and who leads what; `producer`, `fetching`, `group_member` and the calls of an administrator (`topics`, `configs`,
`groups`, `offsets`) stand on it. `blocking.run` is for callers without an event loop. It speaks to Apache Kafka too.
"""
