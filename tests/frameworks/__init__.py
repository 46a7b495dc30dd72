"""Programs in the style of each framework's own examples, and what is said of them. `tox -e frameworks`."""
