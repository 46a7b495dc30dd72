"""Limits before reading, and every field looked at: a file from anybody is a reproducer or one line."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from pytest_trainhealth import replay
from pytest_trainhealth.reproducers import untrusted
from pytest_trainhealth.reproducers.expected import CONDITIONS
from pytest_trainhealth.reproducers.reproducer import read
from pytest_trainhealth.settings import WrongSetting

from .test_reproducer import failure, training

Content = dict[str, Any]


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(failure(training, tmp_path_factory.mktemp("kept")).reproducer)


@pytest.fixture
def content(genuine: Path) -> Content:
    loaded: Content = torch.load(genuine, weights_only=True)
    return loaded


def refused(path: Path) -> str:
    with pytest.raises(WrongSetting) as raised:
        read(path, shown_as="it.pt")
    said = str(raised.value)
    assert said.isprintable()
    assert len(said) < 300
    return said


def saved(content: object, folder: Path) -> Path:
    torch.save(content, folder / "it.pt")
    return folder / "it.pt"


def test_a_genuine_one_is_read(genuine: Path) -> None:
    assert read(genuine).check == "trains_without_nan"
    assert replay(genuine, training).failed


@pytest.mark.parametrize(
    "name",
    ["check", "training", "test", "factory", "seed", "run_seed", "call", "seed_offset", "step", "conditions", "culprit",
     "verdict", "state", "why"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["missing", 10**40, -1.5, "x\n", [{}], {"a": 1}, True], ids=str)
def test_missing_and_wrong_fields(content: Content, tmp_path: Path, name: str, value: object) -> None:
    if value == "x\n" and name in ("training", "test", "factory", "why"):
        return  # a text is one, whatever it says
    if value == "missing":
        del content[name]
    else:
        content[name] = value
    assert refused(saved(content, tmp_path)) == f"it.pt is damaged, or was made by hand: the field {name} is not valid"


def _numpy(position: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        content["state"]["random"]["numpy"][2] = position

    return change


def _conditions(kind: str, **options: Any) -> Callable[[Content], None]:
    return lambda content: content.update(conditions=[{"kind": kind, "label": "", "options": options}])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_numpy(10**9), "random"),
        (_numpy(-1), "random"),
        (lambda c: c["state"]["random"].update(torch=torch.zeros(3)), "random"),
        (lambda c: c["state"]["random"].update(python=[3, [1] * 7, None]), "random"),
        (lambda c: c["state"].update(parameters={"0.weight": 3}), "parameters"),
        (lambda c: c["state"].update(batch={"parts": [1]}), "batch"),
        (lambda c: c["state"].update(optimizers={"Adam": {"state": {}, "param_groups": [3]}}), "optimizers"),
        (lambda c: c["state"].update(optimizers={"Adam": 3}), "optimizers"),
        (lambda c: c["state"].update(more=1), "state"),
        (lambda c: c["culprit"].update(line=10**40), "culprit"),
        (lambda c: c["verdict"].update(check="gradients_flow"), "verdict"),
        (lambda c: c["verdict"]["findings"][0].update(certainty="certain"), "verdict"),
        (lambda c: c["verdict"]["findings"][0].update(rank="first"), "verdict"),
        (lambda c: c["verdict"]["findings"][0]["places"][0].update(line=[]), "verdict"),
        (lambda c: c["verdict"]["figures"].update(step_seconds=[]), "verdict"),
        (lambda c: c["verdict"].update(notes=[3]), "verdict"),
        (lambda c: c["verdict"].update(outcome="passed"), "verdict"),
        (_conditions("threads", count=10**9), "conditions"),
        (_conditions("batch_size", size=-1), "conditions"),
        (_conditions("bypass"), "conditions"),
        (_conditions("os"), "conditions"),
    ],
)
def test_what_is_inside_is_looked_at(
    content: Content, tmp_path: Path, change: Callable[[Content], None], field: str
) -> None:
    change(content)
    assert refused(saved(content, tmp_path)).endswith(f"the field {field} is not valid")


def test_all_conditions_that_a_run_may_have(content: Content, tmp_path: Path) -> None:
    from pytest_trainhealth.stress.circumstances import Circumstances

    unusual = Circumstances(scale=10.0, batch_size=2, sample="zero", precision="bfloat16", lr=10.0, loss_scale=2.0)
    repeated = Circumstances(sample="repeated")
    kinds = {condition.kind for condition in (*unusual.conditions, *repeated.conditions)}
    assert kinds | {"threads", "found_inputs"} == CONDITIONS


@pytest.mark.parametrize("version", [None, 1, 3, "2", 10**4000, torch.ones(2)])
def test_other_versions(content: Content, tmp_path: Path, version: object) -> None:
    content["version"] = version
    said = refused(saved(content, tmp_path))
    if isinstance(version, int) and version > 3:
        assert said.startswith("it.pt cannot be read: ")
    else:
        told = version if isinstance(version, int) else "unknown"
        assert said == f"it.pt is of version {told}, and this pytest-trainhealth reads 2"


# -- what would take all memory, or for ever -----------------------------------------------------------------


def _packed_again(file: Path, to: Path, change: Callable[[str, bytes], bytes], **how: Any) -> Path:
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w", **how) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, change(entry.filename, old.read(entry)))
    return to


def test_a_compressed_archive(tmp_path: Path) -> None:
    large = saved({"zeros": torch.zeros(2**20)}, tmp_path)
    bomb = _packed_again(large, tmp_path / "bomb.pt", lambda _, data: data, compression=zipfile.ZIP_DEFLATED)
    assert refused(bomb) == "it.pt cannot be read: it is compressed or encrypted"


def test_a_value_shown_a_trillion_times(content: Content, tmp_path: Path) -> None:
    content["state"]["batch"] = {"whole": torch.ones(1).expand(10**12)}
    assert refused(saved(content, tmp_path)) == "it.pt cannot be read: its tensors take more than 256 MB"


def test_lists_of_lists_of_lists(content: Content, tmp_path: Path) -> None:
    laughs: list[Any] = [0] * 10
    for _ in range(30):
        laughs = [laughs] * 10
    content["state"]["batch"] = {"whole": laughs}
    assert refused(saved(content, tmp_path)) == "it.pt cannot be read: it holds more values than any training has"
    endless: list[Any] = []
    endless.append(endless)
    content["state"]["batch"] = {"whole": endless}
    assert refused(saved(content, tmp_path)) == "it.pt cannot be read: it holds more values than any training has"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "large.pt", "wb") as file:
        file.truncate(2**40)  # without taking any room
    assert refused(tmp_path / "large.pt") == "it.pt cannot be read: it is larger than 320 MB"


def test_too_many_values_besides_tensors(content: Content, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "LARGEST_PICKLE", 1000)
    assert "its values without tensors take more than" in refused(saved(content, tmp_path))


class _Allocates:
    def __reduce__(self) -> Any:
        return bytearray, (2**45,)


class _Runs:
    def __reduce__(self) -> Any:
        return os.abort, ()


@pytest.mark.parametrize(
    ("value", "named"),
    [(_Allocates(), "bytearray"), (_Runs(), "posix.abort"), ({1, 2}, "set"), (b"ab", "_codecs.encode")],
    ids=["memory", "code", "set", "bytes"],
)
def test_nothing_but_plain_values_and_tensors_is_even_loaded(tmp_path: Path, value: object, named: str) -> None:
    said = refused(saved({"value": value}, tmp_path))
    assert said.startswith("it.pt cannot be read: it holds more than plain values and tensors (")
    assert named in said


def test_a_tensor_whose_values_are_not_there(tmp_path: Path) -> None:
    file = saved({"it": torch.zeros(4)}, tmp_path)

    def longer(name: str, data: bytes) -> bytes:
        return data.replace(b"K\x04t", b"J\x00\x00\x10\x00t") if name.endswith("data.pkl") else data

    assert refused(_packed_again(file, tmp_path / "longer.pt", longer)).startswith("it.pt cannot be read: ")


def test_things_that_are_no_archive(tmp_path: Path) -> None:
    legacy = io.BytesIO()
    torch.save({"a": torch.ones(2)}, legacy, _use_new_zipfile_serialization=False)
    for bytes_ in (b"", b"PK", b"PK\x05\x06" + bytes(18), legacy.getvalue(), pickle.dumps(_Runs()), os.urandom(500)):
        (tmp_path / "it.pt").write_bytes(bytes_)
        assert refused(tmp_path / "it.pt").startswith("it.pt cannot be read: no file of torch.save (")
    assert refused(tmp_path) == "it.pt cannot be read: Is a directory" or refused(tmp_path).endswith("no regular file")
    assert refused(tmp_path / "none.pt") == "it.pt: there is no such file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt")
    assert refused(tmp_path / "pipe.pt") == "it.pt cannot be read: it is no regular file"


def test_every_byte_that_is_damaged(genuine: Path, tmp_path: Path) -> None:
    """A reproducer, or one line: never anything else."""
    whole = genuine.read_bytes()
    for at in range(0, len(whole), len(whole) // 150):
        (tmp_path / "it.pt").write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with suppress(WrongSetting):
            read(tmp_path / "it.pt")
    for at in range(0, len(whole), len(whole) // 50):
        (tmp_path / "it.pt").write_bytes(whole[:at])
        refused(tmp_path / "it.pt")


def test_a_state_that_does_not_fit_is_one_line(content: Content, tmp_path: Path) -> None:
    content["state"]["gradients"] = {"0.weight": torch.ones(3)}
    file = saved(content, tmp_path)
    with pytest.raises(WrongSetting, match="does not fit: RuntimeError: ") as raised:
        replay(file, training)
    assert "\n" not in str(raised.value)


def test_an_ordered_dict_is_no_plain_value(content: Content, tmp_path: Path) -> None:
    content["culprit"] = OrderedDict(content["culprit"])
    assert refused(saved(content, tmp_path)) == "it.pt cannot be read: it holds a OrderedDict"
