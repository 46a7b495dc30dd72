"""Against another revision, in the same run: two processes, one for each side, taking turns.

Users have given up on stored baselines, for a machine is never as fast as it was last week. Here both revisions run
now, on this machine, a twentieth of a second each and in turns, and only their ratio is judged.

`git.py` asks about the repository, `worktree.py` lays the other revision out, `stale_worktrees.py` finds what killed
runs have left of earlier ones; `import_paths.py` says which folders a revision imports from, `protocol.py` and
`revision.py` lead the two processes, `plugin/revision_process.py` is what runs in them, `session.py` what they are
asked for and `error_lines.py` what they say when they cannot; `timed_run.py` takes the steps that are timed, and begins
again before they are far from the start; `step_sync.py` keeps both at the same step, `pairing.py` lets them take turns,
`cpu_affinity.py` on the same core, `loader_workers.py` with the other's workers at rest, `thread_counts.py` with one
thread each; `decision.py` judges the ratios, `differences.py` tells what else is not the same, and `compare.py` is all
of it together.
"""
