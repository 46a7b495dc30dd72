"""One run of a training: its step loop, the batches it is fed, and the events that listeners receive."""
