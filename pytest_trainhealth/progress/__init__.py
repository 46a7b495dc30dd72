"""How far a check has come, for whoever waits for it: kept up to date for nothing, and shown at intervals."""
