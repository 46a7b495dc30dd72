"""Is advice right? Ten trainings, five with a better setting that is known and five that are tuned; see `__main__`."""
