"""What can be run again from its start: a `Training`, or a watched test."""
