"""What ranks should have done among themselves. Installed in every rank, so that all take part."""
