"""Processes of a cluster on one machine: started, found again by their directory, paused, stopped, killed."""
