"""What follows a training that stayed finite: other circumstances, how far the limits are, and a search for bad
inputs."""
