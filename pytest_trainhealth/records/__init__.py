"""What a trace is made of, one file for each thing that is looked at. Standard library only."""
