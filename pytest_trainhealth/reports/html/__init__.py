"""The HTML report, in pieces: markup, plots, sections, the page around them. Reads verdicts only."""
