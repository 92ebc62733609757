"""Kafka's protocol as bytes: frames, headers, versions, messages. No sockets, no clock, no state but a half frame."""
