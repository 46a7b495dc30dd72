"""Compares the current revision with another one in the same run: two processes, one for each, taking turns.

Users have given up on stored baselines, because a machine is never as fast as it was last week. Here both revisions run
now, on this machine, a twentieth of a second each and in turns, and only their ratio is judged.

- The other revision's files: `git.py` asks about the repository, `worktree.py` checks out the other revision,
  `stale_worktrees.py` finds worktrees that killed runs left behind, `import_paths.py` says which folders a revision
  imports from.
- The two processes: `revision.py` starts and ends one, `protocol.py` carries messages, `plugin/revision_process.py`
  runs inside it, `session.py` answers requests, `error_lines.py` puts its errors into one line.
- The timing: `timed_run.py` takes the timed steps and starts over before they are far from the start, `step_sync.py`
  keeps both revisions at the same step, `pairing.py` lets them take turns, `cpu_affinity.py` puts both on the same
  core, `loader_workers.py` pauses the other's workers, `thread_counts.py` gives each one thread.
- The result: `decision.py` judges the ratios, `differences.py` notes what else differs, `compare.py` does it all.
"""
