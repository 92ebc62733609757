"""One module for each API: a request in, an answer out."""
