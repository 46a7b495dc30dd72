"""Do the tests notice when the rules change? Small changes to the code, one at a time, and the tests that reach them.

``python -m tests.evaluation.mutation`` (``tox -e mutation``) takes a sample by room, runs for each changed program the
tests that execute the changed line, the quickest first, and counts the changes that no test noticed.
"""
