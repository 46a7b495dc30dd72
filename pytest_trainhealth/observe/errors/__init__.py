"""What is seen of an error of the user's code, when a run is made once more to explain it."""
