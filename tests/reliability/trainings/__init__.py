"""Trainings put together from parts, each of which is known by its name: a case is printed, and made again from that."""
