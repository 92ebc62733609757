"""What is asked of each side, one class for each kind of work; `catalogue` lists them all."""
