"""Where `--trainhealth-json` may point to, and what a run says if it cannot write there: one line, and no more."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_trainhealth.reports import target

from .conftest import Project

TESTS = """
    import os, shutil
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.gradients_flow
    def test_fails():
        return Training(gradients_flow="failed")

    @pytest.mark.gradients_flow
    def test_passes():
        return Training()
"""
posix = pytest.mark.skipif(os.name != "posix", reason="devices, pipes and modes are of POSIX")


@pytest.fixture
def tests(project: Project) -> Project:
    project.makepyfile(test_it=TESTS)
    return project


def run(project: Project, file: str, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess("--trainhealth", f"--trainhealth-json={file}", *options)


def judged(text: str) -> list[str]:
    return [verdict["outcome"] for verdict in json.loads(text)["verdicts"]]


# -- the target stays what it is -----------------------------------------------------------------------------


@posix
def test_a_link_is_followed(tests: Project) -> None:
    (tests.path / "real").mkdir()
    (tests.path / "real/out.json").write_text("old")
    (tests.path / "link.json").symlink_to("real/out.json")
    (tests.path / "new.json").symlink_to("real/new.json")
    run(tests, "link.json")
    run(tests, "new.json")
    for link, file in (("link.json", "real/out.json"), ("new.json", "real/new.json")):
        assert (tests.path / link).is_symlink()
        assert judged((tests.path / file).read_text()) == ["failed", "passed"]
    assert sorted(os.listdir(tests.path / "real")) == ["new.json", "out.json"]


@posix
def test_a_device_stays_a_device(tests: Project) -> None:
    """As root, /dev/null would become a file for everybody. So this takes a terminal of its own, which nobody can
    replace, and only looks at what belongs to everybody."""
    import pty

    ours, theirs = pty.openpty()
    file = os.ttyname(theirs)
    (tests.path / "link").symlink_to(file)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.extend(iter(lambda: _next(ours), b"")), daemon=True)
    reader.start()
    for each in (file, "link"):
        assert run(tests, each).ret == pytest.ExitCode.TESTS_FAILED
        assert stat.S_ISCHR(os.stat(file).st_mode)
    assert (tests.path / "link").is_symlink()
    os.close(theirs)
    reader.join(30)
    assert b"".join(read).count(b'"complete": true') == 2
    assert target._is_stream(Path("/dev/null"))
    assert target._own_descriptor(Path("/dev/stdout")) == 1
    assert target._own_descriptor(Path("/dev/stderr")) == 2


def _next(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


@posix
def test_a_pipe_gets_one_document(tests: Project) -> None:
    os.mkfifo(tests.path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tests.path / "pipe").read_text()), daemon=True)
    reader.start()
    run(tests, "pipe")
    reader.join(30)
    assert judged(read[0]) == ["failed", "passed"]
    assert stat.S_ISFIFO((tests.path / "pipe").stat().st_mode)


@posix
def test_a_pipe_that_nobody_reads_is_not_waited_for(tests: Project) -> None:
    os.mkfifo(tests.path / "pipe")
    result = run(tests, "pipe", "-k", "passes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--trainhealth-json: cannot write *pipe: No such device or address"])


@posix
def test_standard_output_that_goes_to_a_file(tests: Project) -> None:
    """Behind its name is a regular file then, which must not be replaced: the rest of the output goes there too.

    (By a name that root cannot replace. /dev/stdout is a link to it.)
    """
    command = [sys.executable, "-m", "pytest", "--trainhealth", "--trainhealth-json=/dev/fd/1"]
    with open(tests.path / "log", "w") as log:
        subprocess.run(command, stdout=log, cwd=tests.path, check=False)
    text = (tests.path / "log").read_text()
    assert judged(text[text.index("{\n") : text.index("\n}\n") + 2]) == ["failed", "passed"]
    assert text.startswith("=====")
    assert "1 failed, 1 passed" in text.splitlines()[-1]


@posix
def test_modes_are_kept_and_a_new_file_has_the_usual_one(tmp_path: Path) -> None:
    private = tmp_path / "private.json"
    private.touch(mode=0o600)
    target.write(private, "{}", last=True)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    usual = tmp_path / "usual"
    usual.touch()
    target.write(tmp_path / "new.json", "{}", last=False)
    assert (tmp_path / "new.json").stat().st_mode == usual.stat().st_mode


@posix
def test_nobody_can_prepare_the_name_that_is_written_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder for everybody, a link of that name would lead a run of root's to any file."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    for name in (".out.json.guessed", f".out.json.{os.getpid()}"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(FileExistsError):
        target.write(tmp_path / "out.json", "{}", last=True)
    assert victim.read_text() == "precious"


def test_a_single_file_that_is_mounted_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    (tmp_path / "out.json").write_text("a longer text than the new one")
    monkeypatch.setattr(Path, "replace", busy)
    target.write(tmp_path / "out.json", "{}", last=True)
    assert (tmp_path / "out.json").read_text() == "{}"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_name_as_long_as_can_be(tmp_path: Path) -> None:
    target.write(tmp_path / ("x" * 255), "{}", last=True)
    assert os.listdir(tmp_path) == ["x" * 255]


# -- and if it cannot be written -----------------------------------------------------------------------------


def on_a_full_disk(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    """Files take 500 bytes: room for a report without verdicts. Safer than /dev/full, and as real."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))\n"
    (project.path / "full_disk.py").write_text(limit)
    # through a pipe, because files that the output goes to would be full as well
    command = [sys.executable, "-m", "pytest", "-p", "full_disk", "--trainhealth", "--trainhealth-json=out.json"]
    return subprocess.run([*command, *options], cwd=project.path, capture_output=True, text=True, check=False)


@posix
@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
def test_a_full_disk(tests: Project, options: tuple[str, ...]) -> None:
    done = on_a_full_disk(tests, *options)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    pytest.LineMatcher(done.stdout.splitlines()).fnmatch_lines(
        [
            "parameters-not-in-optimizer: the optimizer never updates*",
            "*- training health -*",
            "--trainhealth-json: cannot write *out.json: File too large",
            "FAILED test_it.py::test_fails*",
            "*1 failed, 1 passed*",
        ]
    )
    assert "Traceback" not in done.stdout + done.stderr
    left = json.loads((tests.path / "out.json").read_text())
    assert (left["complete"], left["verdicts"]) == (False, [])
    assert [name for name in os.listdir(tests.path) if name.startswith(".out")] == []


@posix
def test_a_green_run_is_not_green(tests: Project) -> None:
    done = on_a_full_disk(tests, "-k", "passes")
    assert "1 passed, 1 deselected" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


BREAKS = {
    "a folder that is gone": ("shutil.rmtree('out'); open('out', 'w').close()", "Not a directory"),
    "a folder in its place": ("os.unlink('out/it.json'); os.mkdir('out/it.json')", "Is a directory"),
}


@posix
@pytest.mark.parametrize(("deed", "said"), BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["plain", "workers"])
def test_what_happens_during_the_run(project: Project, deed: str, said: str, options: tuple[str, ...]) -> None:
    project.makepyfile(test_it=TESTS.replace("return Training()", f"{deed}; return Training()"))
    result = run(project, "out/it.json", *options)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"--trainhealth-json: cannot write *out/it.json: {said}"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_what_comes_back_is_written_in_the_end(project: Project) -> None:
    """Only the last write counts: a disk may be full for a moment."""
    deed = "os.unlink('out.json'); os.mkdir('out.json')"
    project.makepyfile(test_it=TESTS.replace("return Training()", f"{deed}; return Training()"))
    project.makepyfile(test_later="import os\ndef test_later(): os.rmdir('out.json')")
    result = run(project, "out.json")
    assert "cannot write" not in result.stdout.str()
    assert judged((project.path / "out.json").read_text()) == ["failed", "passed"]


def test_an_error_of_another_plugin_takes_nothing_with_it(tests: Project) -> None:
    """--junitxml on a full disk raises in pytest's own hook."""
    tests.makepyfile(broken="def pytest_sessionfinish(): raise OSError(28, 'No space left on device')")
    tests.syspathinsert()
    run(tests, "out.json", "-p", "broken")
    document = json.loads((tests.path / "out.json").read_text())
    assert (len(document["verdicts"]), document["complete"]) == (2, True)


@posix
def test_a_closed_pipe(tests: Project) -> None:
    """`| head`: what was judged until then is in the file, and the file says that it is not all."""
    command = [sys.executable, "-u", "-m", "pytest", "-v", "--trainhealth", "--trainhealth-json=out.json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tests.path)
    assert process.stdout is not None
    for line in process.stdout:
        if b"collected" in line:
            break
    process.stdout.close()
    assert process.wait(60) != 0
    document = json.loads((tests.path / "out.json").read_text())
    assert document["complete"] is (len(document["verdicts"]) == 2)
    assert [name for name in os.listdir(tests.path) if name.startswith(".out")] == []
