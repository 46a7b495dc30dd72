"""What follows a training that stayed finite: other circumstances, margins, and a search for bad inputs."""
