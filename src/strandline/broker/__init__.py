"""One process: the network, the dispatch of requests, a handler for each API."""
