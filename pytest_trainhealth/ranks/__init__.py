"""Starts the same test in several processes, as torchrun does, and compares what they do.

- In this process: `environment.py` says what a rank finds in its environment, `rank.py` starts and ends one,
  `gang.py` listens to all of them and notices one that is gone or waits in vain, `stacks.py` reads where a process is,
  `program.py` makes one run of it.
- In each rank: `plugin/rank_process.py` finds the test, `link.py` talks to the parent, `process_group.py` makes the
  process group if the user's code does not, `steps.py` trains, `rank_observer.py` looks at each update, `sketcher.py`
  brings tensors into a few numbers.
- In one more process with the samples of all ranks: `joint_batch.py`.

Nothing is exchanged between ranks but what the user's code exchanges: the parent compares what each has reported.
"""
