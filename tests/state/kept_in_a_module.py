"""A module whose names a step counts in."""

calls = 0
