"""One file per kind of intervention. Cures are hooks, not edits, so they work on any loop; `installing.py` says how."""
