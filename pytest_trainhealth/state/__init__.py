"""The state of a training and of the process around it: kept, and put back exactly as it was found."""
