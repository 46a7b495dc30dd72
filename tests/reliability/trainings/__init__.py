"""Trainings put together from parts, each known by its name: a case is printed, and made again from that."""
