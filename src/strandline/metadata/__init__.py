"""The store of cluster truth: a tree of znodes under one contract, and Kafka's paths and values in it."""
