"""A failure is kept in a file, and `pytest --trainhealth-replay=FILE` shows it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEPT = ".trainhealth/test_it-test_it-trains_without_nan.pt"
NODE_ID = "test_it.py::test_it[trains_without_nan]"
#: The fourth batch holds a sample without light: its logarithm is not finite.
TRAIN = """
    import torch
    from torch import nn
    from torch.nn import functional as F

    from pytest_trainhealth import Training

    def brightness(images):
        return torch.log(images.sum(1, keepdim=True))

    def loss(model, batch):
        images, target = batch
        return F.mse_loss(model(images) * brightness(images), target)

    def batches():
        generator = torch.Generator().manual_seed(0)
        given = [(torch.rand(8, 4, generator=generator), torch.rand(8, 1, generator=generator)) for _ in range(6)]
        given[3][0][5] = 0
        return given

    def network(width=16):
        return nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 1))

    def training():
        model = network()
        return Training(model, torch.optim.AdamW(model.parameters(), 1e-2), loss, batches())

    def fit():
        model = network()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        for batch in batches():
            optimizer.zero_grad()
            value = loss(model, batch)
            value.backward()
            optimizer.step()
"""


@pytest.fixture(scope="module", autouse=True)
def torch_stays() -> None:
    """pytester forgets what an inner run imports, and torch bears only one import: so here, with its late parts."""
    import torch._dynamo

    import pytest_trainhealth.examine

    assert torch._dynamo
    assert pytest_trainhealth.examine


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark -p no:cacheprovider")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a file that changes within a second is not its compiled self
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    for outer in ("CI", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(outer, raising=False)
    pytester.makepyfile(train=TRAIN)
    write_test(pytester, "return train.training()")
    pytester.syspathinsert()
    return pytester


def write_test(project: pytest.Pytester, body: str, marker: str = "trains_without_nan") -> None:
    project.makepyfile(
        test_it=f"import pytest, train\n\n@pytest.mark.{marker}\ndef test_it():\n    {body}\n\ndef test_other(): pass"
    )


def change(project: pytest.Pytester, old: str, new: str) -> None:
    import linecache

    file = project.path / "train.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    linecache.clearcache()


def verdict(project: pytest.Pytester, *options: str) -> dict[str, Any]:
    project.runpytest(*options, "--trainhealth-json=out.json")
    verdicts = json.loads((project.path / "out.json").read_text())["verdicts"]
    assert len(verdicts) == 1
    found: dict[str, Any] = verdicts[0]
    return found


def chart(lines: list[str]) -> list[str]:
    """From the headline to the last row, without the note of the replay."""
    first = next(at for at, line in enumerate(lines) if line.startswith("unstable-operation: "))
    last = next(at for at, line in enumerate(lines) if line.startswith("  more "))
    return [line for line in lines[first : last + 1] if "replayed: " not in line]


def test_written_by_one_process_and_replayed_by_another(project: pytest.Pytester) -> None:
    written = project.runpytest_subprocess("--trainhealth")
    written.assert_outcomes(failed=1, passed=1)
    written.stdout.fnmatch_lines(
        [
            "unstable-operation: log in your loss (train.py:8) makes inf",
            "*the loss is * at step 3*",
            "*train.py:8   return torch.log(images.sum(1, keepdim=True))",
            f"  replay    pytest --trainhealth-replay={KEPT}",
            "  more *",
        ]
    )
    replayed = project.runpytest_subprocess(f"--trainhealth-replay={KEPT}")
    replayed.assert_outcomes(failed=1)
    replayed.stdout.fnmatch_lines(["            replayed: step 3, as recorded"])
    assert chart(replayed.outlines) == chart(written.outlines)


def test_one_step_is_taken_and_no_other(project: pytest.Pytester) -> None:
    change(
        project, "images, target = batch", "images, target = batch; print('a step on', round(float(target.sum()), 3))"
    )
    project.runpytest("--trainhealth")
    result = project.runpytest(f"--trainhealth-replay={KEPT}", "-s")
    steps = [line for line in result.outlines if "a step on" in line]
    assert len(steps) == 1
    import torch

    culprit = torch.load(project.path / KEPT, weights_only=True)["state"]["batch"]["whole"]
    assert steps[0].endswith(f"a step on {round(float(culprit[1].sum()), 3)}")
    assert bool((culprit[0][5] == 0).all())


def test_nobody_commits_it(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    assert (project.path / ".trainhealth/.gitignore").read_text() == "*\n"
    assert sorted(p.name for p in (project.path / ".trainhealth").iterdir()) == [".gitignore", Path(KEPT).name]


def test_a_healthy_training_leaves_nothing_behind(project: pytest.Pytester) -> None:
    change(project, "given[3][0][5] = 0", "pass")
    assert verdict(project, "--trainhealth")["reproducer"] == ""
    assert not (project.path / ".trainhealth").exists()


def test_the_json_names_the_file(project: pytest.Pytester) -> None:
    assert verdict(project, "--trainhealth")["reproducer"] == KEPT


def test_a_bug_that_was_mended(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    change(project, "torch.log(images", "torch.log1p(images")
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"--trainhealth-replay: step 3 of {KEPT} is finite now (it was: the loss is *)"])


def test_lines_that_moved(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    change(project, "def brightness", "# a comment\n# and another\ndef brightness")
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.stdout.fnmatch_lines(
        ["*replayed: step 3, as recorded", "*train.py:10   return torch.log(images.sum(1, keepdim=True))"]
    )


def test_another_operation_fails_now(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    change(project, "torch.log(images.sum(1, keepdim=True))", "1 / images.sum(1, keepdim=True)")
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "unstable-operation: reciprocal in your loss (train.py:8) makes inf",
            "*step 3 is still not finite, but fails elsewhere now (before: log at",
            " *train.py:8)",
        ]
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("rand(8, 4, generator=generator)", "rand(8, 4, generator=generator).double()", "batch[[]0] was float32 and *"),
        ("width=16", "width=24", "parameter 0.weight was (16, 4) float32 and is (24, 4) float32 now"),
        (", nn.BatchNorm1d(width)", "", "the training no longer has parameter 1.weight"),
        ("nn.Tanh()", "nn.PReLU()", "the training had no parameter 2.weight, and has one now"),
        ("nn.Tanh()", "nn.BatchNorm1d(width, affine=False)", "the training had no buffer 2.running_mean, *"),
        (
            "optim.AdamW(model.parameters()",
            "optim.AdamW(model[0].parameters()",
            "the groups of AdamW held [[]6] parameters and hold [[]2] now",
        ),
    ],
)
def test_what_differs_is_named_in_one_line(project: pytest.Pytester, old: str, new: str, said: str) -> None:
    project.runpytest("--trainhealth")
    change(project, old, new)
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_it[[]trains_without_nan] *", f"{KEPT} does not fit: {said}"])


def test_a_test_that_returns_nothing_any_more(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    write_test(project, "train.fit()")
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"{KEPT} does not fit: test_it returned a Training, and returns nothing now"])


def usage_error(project: pytest.Pytester, *options: str) -> str:
    result = project.runpytest(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    return line


def test_a_test_that_is_gone(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    write_test(project, "return train.training()", "gradients_flow")
    said = f"ERROR: --trainhealth-replay: {KEPT} is from {NODE_ID}, which this run does not collect"
    assert usage_error(project, f"--trainhealth-replay={KEPT}") == said
    (project.path / "test_it.py").unlink()
    assert usage_error(project, f"--trainhealth-replay={KEPT}") == said


def test_a_test_file_that_cannot_be_imported_says_so_itself(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    project.makepyfile(test_it="import nothing_of_this_name")
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*No module named 'nothing_of_this_name'"])


def test_files_that_are_none(project: pytest.Pytester) -> None:
    import torch

    (project.path / "text.pt").write_text("no file of torch")
    torch.save({"weights": torch.ones(2)}, project.path / "model.pt")
    said = "ERROR: --trainhealth-replay: "
    assert usage_error(project, "--trainhealth-replay=missing.pt") == f"{said}missing.pt: there is no such file"
    assert usage_error(project, "--trainhealth-replay=text.pt").startswith(f"{said}text.pt cannot be read: ")
    assert (
        usage_error(project, "--trainhealth-replay=model.pt")
        == f"{said}model.pt is not a reproducer of pytest-trainhealth"
    )


def test_a_watched_test_is_run_as_a_whole(project: pytest.Pytester) -> None:
    write_test(project, "train.fit()")
    written = project.runpytest("--trainhealth")
    written.stdout.fnmatch_lines([f"  replay    pytest --trainhealth-replay={KEPT}"])
    replayed = project.runpytest(f"--trainhealth-replay={KEPT}")
    replayed.assert_outcomes(failed=1)
    replayed.stdout.fnmatch_lines(
        ["*replayed: the run up to step 3, as recorded", "*a test that trains by itself is run as a whole"]
    )
    change(project, "torch.log(images", "torch.log1p(images")
    mended = project.runpytest(f"--trainhealth-replay={KEPT}")
    mended.assert_outcomes(passed=1)
    mended.stdout.fnmatch_lines(["--trainhealth-replay: the run up to step 3 of * is finite now *"])


def test_the_fixture(project: pytest.Pytester) -> None:
    """The second training of two that are asked the same thing."""
    project.makepyfile(
        test_it="""
        import train

        def healthy():
            training = train.training()
            del training.data[3]
            return training

        def test_it(trainhealth):
            assert trainhealth.trains_without_nan(healthy).passed
            trainhealth.trains_without_nan(train.training())
        """
    )
    written = project.runpytest("--trainhealth")
    written.stdout.fnmatch_lines([f"  replay    pytest --trainhealth-replay={KEPT}"])
    replayed = project.runpytest(f"--trainhealth-replay={KEPT}")
    replayed.assert_outcomes(failed=1)
    replayed.stdout.fnmatch_lines(["*replayed: step 3, as recorded"])


def test_a_factory_on_the_command_line(project: pytest.Pytester) -> None:
    options = ("--trainhealth-training=train:training", "--trainhealth-checks=trains_without_nan")
    kept = ".trainhealth/train-training-trains_without_nan.pt"
    command = f"--trainhealth-training=train:training --trainhealth-replay={kept}"
    project.runpytest(*options).stdout.fnmatch_lines([f"  replay    pytest {command}"])
    replayed = project.runpytest(*command.split())
    replayed.assert_outcomes(failed=1)
    replayed.stdout.fnmatch_lines(["*replayed: step 3, as recorded"])


def test_written_by_a_worker(project: pytest.Pytester) -> None:
    assert verdict(project, "--trainhealth", "-n2")["reproducer"] == KEPT
    result = project.runpytest(f"--trainhealth-replay={KEPT}", "-n2")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*replayed: step 3, as recorded", "*train.py:8   return torch.log(*"])


def test_the_battery_another_seed_and_options_of_the_ini_file(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\naddopts = -m 'not slow' -k 'not test_it'\nmarkers = slow: takes long")
    write_test(project, "return train.training()", "slow\n@pytest.mark.trainhealth(checks=['trains_without_nan'])")
    written = project.runpytest("--trainhealth", "--trainhealth-seed=5", "-m", "", "-k", "test_it")
    written.assert_outcomes(failed=1, passed=1)
    result = project.runpytest(f"--trainhealth-replay={KEPT}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*seed 5 *", "*replayed: step 3, as recorded"])


def test_from_another_folder(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an ini file the root folder is the one that one is in, and node ids begin there."""
    inner = project.mkdir("inner")
    (project.path / "test_it.py").rename(inner / "test_it.py")
    kept = ".trainhealth/inner-test_it-test_it-trains_without_nan.pt"
    written = project.runpytest("--trainhealth")
    written.stdout.fnmatch_lines([f"  replay    pytest --trainhealth-replay={kept}"])
    monkeypatch.chdir(inner)
    result = project.runpytest(f"--trainhealth-replay=../{kept}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*replayed: step 3, as recorded", "*train.py:8   return torch.log(*"])


@pytest.mark.parametrize("factory", ["train.training", "lambda: train.training()"])
def test_what_was_diagnosed_outside_of_pytest(project: pytest.Pytester, factory: str) -> None:
    project.makepyfile(
        script=f"""
        import train
        from pytest_trainhealth import diagnose
        report = diagnose({factory}, ["trains_without_nan"], name="mine", reproducers="kept")
        print(report.verdicts[0].reproducer)
        """
    )
    assert project.runpython("script.py").outlines == ["kept/mine-trains_without_nan.pt"]
    if factory == "train.training":
        command = ("--trainhealth-training=train:training", "--trainhealth-replay=kept/mine-trains_without_nan.pt")
        result = project.runpytest(*command)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*replayed: step 3, as recorded"])
    else:
        said = usage_error(project, "--trainhealth-replay=kept/mine-trains_without_nan.pt")
        assert said.endswith(
            "is not from a test. In Python: pytest_trainhealth.replay('kept/mine-trains_without_nan.pt', factory)"
        )


def test_other_options_beside_it(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    replayed = verdict(project, f"--trainhealth-replay={KEPT}")
    assert (replayed["nodeid"], replayed["outcome"], replayed["reproducer"]) == (NODE_ID, "failed", KEPT)
    listed = project.runpytest(f"--trainhealth-replay={KEPT}", "--collect-only", "-q")
    assert [line for line in listed.outlines if "::" in line] == [NODE_ID]


def test_gone_and_workers_asked_for(project: pytest.Pytester) -> None:
    project.runpytest("--trainhealth")
    write_test(project, "return train.training()", "gradients_flow")
    assert usage_error(project, f"--trainhealth-replay={KEPT}", "-n2").endswith("which this run does not collect")


# -- a file from anybody -------------------------------------------------------------------------------------


def forge(project: pytest.Pytester, to: str = "forged.pt", **fields: Any) -> str:
    import torch

    content = torch.load(project.path / KEPT, weights_only=True)
    for name, value in fields.items():
        content[name] = value
    torch.save(content, project.path / to)
    return to


@pytest.fixture
def kept(project: pytest.Pytester) -> pytest.Pytester:
    project.runpytest("--trainhealth")
    return project


def plant(file: Path) -> None:
    """A module that tells that it was imported."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"open({str(file.with_suffix('.ran'))!r}, 'w').close()\ndef test_it(): pass\n")


@pytest.mark.parametrize("path", ["{outside}/test_evil.py", "../outside/test_evil.py", "train.py", "test_evil.py"])
def test_a_file_names_no_code_that_this_run_would_not_collect(kept: pytest.Pytester, path: str) -> None:
    """Absolute, above the root folder, a module that is no test file, and one beside an unpacked artifact."""
    outside = kept.path.parent / "outside"
    plant(outside / "test_evil.py")
    (outside / ".trainhealth").mkdir(exist_ok=True)
    test = f"{path.format(outside=outside)}::test_it[trains_without_nan]"
    file = forge(kept, "../outside/.trainhealth/forged.pt", test=test)
    said = usage_error(kept, f"--trainhealth-replay={file}")
    assert said == f"ERROR: --trainhealth-replay: {file} is from {test}, which this run does not collect"
    assert not list(outside.glob("*.ran"))


def test_a_file_names_a_test_of_another_folder_only_where_the_run_goes_there(kept: pytest.Pytester) -> None:
    inner = kept.mkdir("inner")
    (kept.path / "test_it.py").rename(inner / "test_it.py")
    other = kept.mkdir("other")
    file = forge(kept, test="inner/test_it.py::test_it[trains_without_nan]")
    assert usage_error(kept, f"--trainhealth-replay={file}", str(other)).endswith("which this run does not collect")
    kept.runpytest(f"--trainhealth-replay={file}", str(inner)).assert_outcomes(failed=1)


def test_two_tests_that_it_may_be_from(kept: pytest.Pytester) -> None:
    for folder in ("one", "two"):
        (kept.path / folder).mkdir()
        (kept.path / folder / "__init__.py").touch()
        (kept.path / folder / "test_it.py").write_text((kept.path / "test_it.py").read_text())
    (kept.path / "test_it.py").unlink()
    said = usage_error(kept, f"--trainhealth-replay={KEPT}")
    assert said.endswith(f"and that may be one/{NODE_ID} and two/{NODE_ID}: name one")
    kept.runpytest(f"--trainhealth-replay={KEPT}", "two").assert_outcomes(failed=1)


@pytest.mark.parametrize(("test", "factory"), [("", "os:abort"), ("os:abort[trains_without_nan]", "")])
def test_a_file_imports_no_factory(kept: pytest.Pytester, test: str, factory: str) -> None:
    file = forge(kept, test=test, factory=factory)
    said = usage_error(kept, f"--trainhealth-replay={file}")
    assert said.endswith("from os:abort, and nothing is imported because a file says so. If that is yours, "
                         "add --trainhealth-training=os:abort")  # fmt: skip
    said = usage_error(kept, f"--trainhealth-replay={file}", "--trainhealth-training=train:training")
    assert said.endswith("forged.pt is from os:abort, and not from train:training")


def test_a_factory_for_a_file_that_is_from_a_test(kept: pytest.Pytester) -> None:
    said = usage_error(kept, f"--trainhealth-replay={KEPT}", "--trainhealth-training=train:training")
    assert said.endswith(f"{KEPT} is from {NODE_ID}, and not from train:training")


def test_settings_beside_the_file_are_not_those_of_the_run(kept: pytest.Pytester) -> None:
    """pytest takes the file for tests, as long as it does not know the option, and looks for settings beside it."""
    artifact = kept.mkdir("artifact")
    (artifact / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    plant(artifact / "train.py")
    file = forge(kept, "artifact/forged.pt")
    said = usage_error(kept, "--trainhealth-replay", file)
    assert said == (
        "ERROR: --trainhealth-replay: without an equals sign, pytest would look for its settings beside the file. "
        f"Write --trainhealth-replay={file}"
    )
    kept.runpytest(f"--trainhealth-replay={file}").assert_outcomes(failed=1)
    (artifact / "pytest.ini").unlink()
    assert usage_error(kept, "--trainhealth-replay", file) == said, "whether or not there are any"
    assert not (artifact / "train.ran").exists()


def test_settings_beside_the_file_in_a_file_of_arguments(kept: pytest.Pytester) -> None:
    artifact = kept.mkdir("artifact")
    (artifact / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    file = forge(kept, "artifact/forged.pt")
    (kept.path / "arguments").write_text(f"--trainhealth-replay\n{file}\n")
    said = usage_error(kept, "@arguments")
    assert "artifact/pytest.ini lies beside artifact/forged.pt" in said
    assert said.endswith("Write --trainhealth-replay=artifact/forged.pt, with an equals sign")


def test_plugins_that_settings_beside_the_file_name_are_not_imported(kept: pytest.Pytester) -> None:
    artifact = kept.mkdir("artifact")
    (artifact / "pytest.ini").write_text("[pytest]\naddopts = -p artifact.plugin\n")
    plant(artifact / "plugin.py")
    file = forge(kept, "artifact/forged.pt")
    kept.runpytest_subprocess(f"--trainhealth-replay={file}").assert_outcomes(failed=1)
    assert not list(artifact.glob("*.ran"))


def test_a_damaged_file_is_one_line(kept: pytest.Pytester) -> None:
    said = usage_error(kept, f"--trainhealth-replay={forge(kept, step=10**30)}")
    assert said.endswith("forged.pt is damaged, or was made by hand: the field step is not valid")


def test_words_of_a_file_are_made_harmless(kept: pytest.Pytester) -> None:
    import torch

    verdict = torch.load(kept.path / KEPT, weights_only=True)["verdict"]
    verdict["findings"][0]["statement"] = "a\n::error::b\x1b[31m\udc80"
    file = forge(kept, verdict=verdict)
    result = kept.runpytest(f"--trainhealth-replay={file}")
    result.assert_outcomes(failed=1)
    assert "\x1b" not in result.stdout.str()
    result.stdout.fnmatch_lines([r"unstable-operation: a\n::error::b\x1b[[]31m\udc80"])
    said = usage_error(kept, f"--trainhealth-replay={forge(kept, test='a.py::b' + chr(10) + '::error::c')}")
    assert said.endswith(r"is from a.py::b\n::error::c, which this run does not collect")
