"""The messages of each API as plain dataclasses, one module each: all versions in one class (`wire.layout`)."""
