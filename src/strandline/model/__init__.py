"""Words every package shares: identities, settings by Kafka's names, the four forms of failure."""
