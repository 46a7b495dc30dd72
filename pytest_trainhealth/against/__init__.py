"""Against another revision, in the same run: two processes, one for each side, taking turns.

Users have given up on stored baselines, for a machine is never as fast as it was last week. Here both revisions run
now, on this machine, a twentieth of a second each and in turns, and only their ratio is judged.

`git.py` asks about the repository, `worktree.py` lays the other revision out, `leftovers.py` finds what killed runs
have left of earlier ones; `folders.py` says which folders a side imports from, `talking.py` and `side.py` lead the two
processes, `child.py` is what runs in them, `serving.py` what they are asked for and `complaints.py` what they say when
they cannot; `long_run.py` takes the steps that are timed, and begins again before they are far from the start;
`in_step.py` keeps both sides at the same step, `pairing.py` lets them take turns, `cores.py` on the same core,
`workers.py` with the other's workers at rest, `thread_counts.py` with one thread each;
`deciding.py` judges the ratios, `differing.py` tells what else is not the same, and `comparing.py` is all of it
together.
"""
