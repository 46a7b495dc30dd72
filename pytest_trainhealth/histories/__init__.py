"""Logs of finished runs are read: one file for each format in `formats/`, found by its name; no list to edit.

Reading imports neither torch nor pandas: whoever looks at a CSV file pays for a CSV file.
"""
