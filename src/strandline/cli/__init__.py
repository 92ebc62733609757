"""The `strandline` command. Each sub-command is a module of its own, imported when it is called."""
