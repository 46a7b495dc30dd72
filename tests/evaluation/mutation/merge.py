"""What is known of the reach of all tests, with some of them measured anew: new tests need not wait for the others."""

from __future__ import annotations

from collections import defaultdict


def merged(known: dict, latest: dict, tests: list[str]) -> dict:
    """What is known, with what these test files (or folders) reach as ``latest`` has it."""

    def is_old(test: str) -> bool:
        return test.startswith(tuple(tests))

    reach: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for source, keep in ((known, lambda test: not is_old(test)), (latest, is_old)):
        for path, lines in source["reach"].items():
            for line, reaching in lines.items():
                reach[path][line] += [test for test in reaching if keep(test)]
    seconds = {test: took for test, took in known["seconds"].items() if not is_old(test)} | latest["seconds"]
    failed = [test for test in known["failed"] if not is_old(test)] + latest["failed"]
    return {"reach": reach, "seconds": seconds, "failed": failed}
