"""What a comparison needs to know of a git repository: its top folder, a revision's commit, what is not committed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ..settings import WrongSetting

#: Variables that git sets inside its own hooks. They would lead a test run in a pre-push hook to the wrong repository.
_OF_A_HOOK = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
}
#: Files that say which dependencies a project has.
_DEPENDENCIES = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "*requirements*.txt",
    "requirements/*",
    "*constraints*.txt",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "environment*.yml",
)
#: Seconds until git is given up. By judgement: a large repository takes its time, and one that asks for a password
#: waits forever.
_MOST_SECONDS = 120


class CannotCompare(Exception):
    """There is nothing to judge; the message says why, in one line."""


class OutOfTime(CannotCompare):
    """Only the time ran out: everything measured before is still valid."""


def git(folder: Path, *arguments: str) -> str:
    """What git prints. Raises `CannotCompare` with the first line of git's error."""
    done = run(folder, *arguments)
    if done.returncode:
        message = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        raise CannotCompare(f"git {arguments[0]}: {message.removeprefix('fatal: ')}")
    return done.stdout.strip()


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs git in a process group of its own, so that Ctrl-C does not stop it halfway, and without hooks."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    environment["LC_ALL"] = "C"
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # looking at a repository must not rewrite its index
    try:
        return subprocess.run(
            ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_MOST_SECONDS,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise CannotCompare("git is not installed, or not on the PATH") from None
    except subprocess.TimeoutExpired:
        raise CannotCompare(f"git {arguments[0]} took longer than {_MOST_SECONDS} s") from None


def top_of(folder: Path) -> Path:
    done = run(folder, "rev-parse", "--show-toplevel")
    if not done.returncode and done.stdout.strip():
        return Path(done.stdout.strip()).resolve()
    if "not a git repository" in done.stderr:
        raise CannotCompare(f"{folder} is not in a git repository")
    message = (done.stderr.strip() or "no working copy").splitlines()[0]
    raise CannotCompare(f"git: {message.removeprefix('fatal: ')}")


def commit_of(top: Path, revision: str) -> str:
    done = run(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not done.returncode:
        return done.stdout.strip()
    if git(top, "rev-parse", "--is-shallow-repository") == "true":
        raise CannotCompare(f"this shallow clone does not hold {revision}: fetch more of it (git fetch --unshallow)")
    raise WrongSetting(f"against: there is no revision {revision!r} in the repository {top}")


def uncommitted(top: Path) -> int:
    """How many files differ from the last commit, new ones included."""
    return len(git(top, "status", "--porcelain", "--untracked-files=all").splitlines())


def dependencies_differ(top: Path, commit: str) -> list[str]:
    """Both revisions run with what is installed now, though the other one may have asked for something else."""
    return git(top, "diff", "--name-only", commit, "--", *(f":(glob){name}" for name in _DEPENDENCIES)).splitlines()
