"""Without the packages: what is said then. This runs with the ordinary tests, which do not have them."""

from __future__ import annotations

import sys

import pytest
import torch

from pytest_trainhealth import Training
from pytest_trainhealth.frameworks.needed import NotInstalled, needed
from pytest_trainhealth.tensors.batches import batch_size, fresh_containers, tensors


@pytest.mark.parametrize("missing", ["lightning", "lightning.pytorch"])
def test_the_message_has_the_line_that_installs_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(NotInstalled, match=r'not installed: pip install "pytest-trainhealth\[lightning\]"'):
        Training.from_lightning(torch.nn.Linear(2, 2), [torch.zeros(2, 2)])


def test_what_an_installed_package_misses_itself_is_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package") as caught:
        needed("tests.frameworks.needs_another", "lightning")
    assert not isinstance(caught.value, NotInstalled)


class Storage(dict):  # type: ignore[type-arg]
    _key = None


class Graph:
    """As PyTorch Geometric's `Data` looks from outside."""

    def __init__(self, **values: object) -> None:
        self._store = Storage(values)

    @property
    def stores(self) -> list[Storage]:
        return [self._store]

    @property
    def num_graphs(self) -> int:
        return 2

    def __call__(self) -> None: ...

    def keys(self) -> list[str]:
        return list(self._store)

    def __getattr__(self, name: str) -> object:
        try:
            return self.__dict__["_store"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __copy__(self) -> Graph:
        return Graph(**self._store)


def test_graphs_are_batches() -> None:
    graph = Graph(x=torch.zeros(5, 3), edge_index=torch.zeros(2, 7, dtype=torch.long), name="ring")
    assert [name for name, _ in tensors(graph)] == [".x", ".edge_index"]
    assert batch_size(graph) == 2
    fresh = fresh_containers(graph)
    assert fresh.x is graph.x
    assert fresh.name == "ring"
    fresh.stores[0]["x"] = None
    assert graph.x is not None


def test_a_graph_is_one_batch_of_a_training() -> None:
    model = torch.nn.Linear(3, 1)
    graph = Graph(x=torch.zeros(5, 3))
    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), lambda m, g: m(g.x).sum(), graph)
    assert training.data is graph
