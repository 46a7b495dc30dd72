"""What can be run again from its start: a training that was handed in, or a test that is watched."""
