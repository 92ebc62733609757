"""Words every package shares: identities, settings by Kafka's names, the five forms of failure."""
