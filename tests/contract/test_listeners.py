"""Whoever listens to a run says so by its base, and has no method that the run would never call.

A method that is no event is silence: `step_end` would be taken for one, and nothing would ever be seen. So every
public method of a listener is an event, overrides one of a base, or stands in `DECLARED`, with who calls it.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import pytest_trainhealth
from pytest_trainhealth import interventions
from pytest_trainhealth.checks import check
from pytest_trainhealth.engine import closeup
from pytest_trainhealth.observe import signals
from pytest_trainhealth.observe.run.events import EVENTS, Listener
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.run.signal import Cost, Signal
from pytest_trainhealth.settings import CHECKS

#: Methods that others than the run call: subclasses fill them in, or whoever holds the listener asks it.
DECLARED = {
    "CallSignal": {"wanted", "seen", "called"},
    "Gradients": {"looks_on"},
    "OutsideWrites": {"wrote"},
    "Clipping": {"seen", "clips", "exchanged"},
    "UnusedPasses": {"grad_read"},
    "Validations": {"loss_without_gradient"},
    "Finiteness": {"after_step", "of_state"},
    "LoaderBatches": {"note", "counted", "latest_tensors", "latest_named"},
    "ErrorWatch": {"failed", "context"},
    "AtTheArguments": {"changed", "given"},
    "AtTheCalls": {"given"},
    "AtTheInputs": {"changed", "given"},
    "AtTheLoss": {"before", "after"},
    "_Sight": {"scout", "look"},
    "WatchedSteps": {"forward_begins", "look_again"},
    "RankObserver": {"find_models", "add_models", "batch_taken", "knows_of_ranks", "without_gradient"},
}


def subclasses(base: type) -> Iterator[type]:
    for each in base.__subclasses__():
        yield each
        yield from subclasses(each)


def unheard(listener: type) -> list[str]:
    """Its public methods that nobody calls."""
    inherited = {name for base in listener.__mro__[1:] for name in vars(base)}
    own = {name for name, value in vars(listener).items() if inspect.isfunction(value) and not name.startswith("_")}
    return sorted(own - inherited - DECLARED.get(listener.__name__, set()))


def _all_listeners() -> list[type]:
    for module in walk_packages(pytest_trainhealth.__path__, f"{pytest_trainhealth.__name__}."):
        import_module(module.name)
    return sorted(
        {each for each in subclasses(Listener) if each.__module__.startswith(f"{pytest_trainhealth.__name__}.")},
        key=lambda each: f"{each.__module__}.{each.__qualname__}",
    )


LISTENERS = _all_listeners()


def test_events() -> None:
    assert len(EVENTS) == 12
    assert all(inspect.getdoc(getattr(Listener, event)) for event in EVENTS)


@pytest.mark.parametrize("listener", LISTENERS, ids=lambda each: f"{each.__module__}.{each.__qualname__}")
def test_every_method_is_heard_of(listener: type) -> None:
    assert unheard(listener) == []


def test_declared_methods_exist() -> None:
    found = {each.__name__: each for each in LISTENERS}
    for name, methods in DECLARED.items():
        assert methods <= set(vars(found[name])), name


def test_a_misspelt_event_is_found() -> None:
    class Misspelt(Listener):
        def step_begins(self, batch: object) -> None:
            pass

        def step_end(self) -> None:
            pass

        @property
        def count(self) -> int:
            return 0

        def _helper(self) -> None:
            pass

    assert unheard(Misspelt) == ["step_end"]


def test_only_what_is_overridden_is_called() -> None:
    class Ends(Listener):
        def step_ends(self) -> None:
            heard.append("step_ends")

    class Inherits(Ends):
        pass

    heard: list[str] = []
    run = Run()
    run.subscribe(Listener())
    run.subscribe(Inherits())
    assert {event: len(methods) for event, methods in run._listeners.items()} == {"step_ends": 1}
    run.emit("step_ends")
    assert heard == ["step_ends"]


def test_whatever_has_a_method_for_an_event_is_a_listener() -> None:
    """What is handed to `subscribe` is held to it by its type; this finds a class that only looks like a listener."""
    known = {(each.__module__, each.__name__) for each in LISTENERS} | {(Listener.__module__, Listener.__name__)}
    root = Path(pytest_trainhealth.__file__).parent
    for file in root.rglob("*.py"):
        module = ".".join((root.name, *file.relative_to(root).with_suffix("").parts))
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                events = {each.name for each in node.body if isinstance(each, ast.FunctionDef)} & set(EVENTS)
                assert not events or (module, node.name) in known, f"{module}.{node.name} is no Listener: {events}"


def test_every_intervention_is_a_listener() -> None:
    for kind, home in interventions._homes().items():
        if not kind.startswith("_"):
            assert getattr(import_module(home), interventions.class_name(kind)) in LISTENERS, kind


# -- signals -----------------------------------------------------------------------------------------

NAMED = [each for each in LISTENERS if issubclass(each, Signal) and "NAME" in vars(each)]


def test_names_are_unique_and_those_of_the_files() -> None:
    assert [name for name, count in Counter(each.NAME for each in NAMED).items() if count > 1] == []
    assert [each.__name__ for each in NAMED if each.__module__.rpartition(".")[2] != each.NAME] == []
    stems = Counter(file.stem for file in Path(signals.__file__).parent.glob("*/*.py") if file.stem != "__init__")
    assert [stem for stem, count in stems.items() if count > 1] == []


def test_the_registry_finds_all_of_them() -> None:
    assert set(signals.all_signals().values()) == set(NAMED)
    assert all(signals.signal(each.NAME) is each for each in NAMED)


@pytest.mark.parametrize("each", NAMED, ids=lambda each: each.NAME)
def test_a_signal_says_what_it_costs(each: type[Signal]) -> None:
    assert isinstance(vars(each)["COST"], Cost)
    assert (each.COST is Cost.ALWAYS) == (each.NAME in signals.ALWAYS)


@pytest.mark.parametrize("name", CHECKS)
def test_checks_ask_for_signals_that_exist(name: str) -> None:
    assert set(check(name).signals) <= set(signals.all_signals())


def test_the_look_at_a_slow_training_asks_for_signals_that_exist() -> None:
    assert set(closeup._LOOKS) <= set(signals.all_signals())


@pytest.mark.parametrize("name", ["stale_gradient", "stored_data", "nothing_like_it"])
def test_a_name_that_is_none_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=rf"there is no signal '{name}'\. (Did you mean|Possible:).* stale_gradients"):
        signals.make_signals(Run(), (name,))
