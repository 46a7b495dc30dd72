"""Iterators written in C cannot be rewound. A copy at the same position is used instead, and the original kept unread.

`itertools.count`, `cycle`, `enumerate`, `zip`, `map` and the iterators of lists and dictionaries say how to make them
again. Iterators inside of iterators are copied as well; those of a class written in Python are not: such objects are
restored like any other.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

from torch.utils.data import dataloader

from .values import Undo

#: By id: an iterator and its copy. Holds both, so that no id is used twice.
Copies = dict[int, tuple[Any, Any]]

_GENERATORS = (types.GeneratorType, types.AsyncGeneratorType, types.CoroutineType)
#: What `re.finditer` reads from.
_SCANNER = type(re.compile("").scanner(""))  # type: ignore[attr-defined]
_METHODS = (types.MethodWrapperType, types.BuiltinMethodType)


class _NoCopy(Exception):
    pass


def moves(value: Any) -> bool:
    """Whether it is an iterator that only a copy can stand in for, or holds one that cannot be exchanged in it."""
    if isinstance(value, _METHODS):  # `itertools.count().__next__`
        return moves(value.__self__)
    if type(value) is tuple:
        return any(moves(each) for each in value)
    in_c = type(getattr(type(value), "__next__", None)) is types.WrapperDescriptorType or type(value) is _SCANNER
    return in_c and not isinstance(value, (*_GENERATORS, io.IOBase))


def copied(value: Any, copies: Copies) -> Any | None:
    """The copy at the same position; the same one for the same iterator. None if it cannot be copied."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of itertools, about `__reduce__`
            return _copy(value, copies)
    except _NoCopy:
        return None


def inside(value: Any) -> list[Any]:
    """What it reads from or calls: the function of a `map`, the list of a list's iterator, an object that iterates."""
    if isinstance(value, _METHODS):
        return [value.__self__]
    if type(value) is tuple:
        return list(value)
    if not _tells(value):
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parts = value.__reduce__()
    return [*parts[1], *(parts[2] if len(parts) > 2 and isinstance(parts[2], tuple) else ())]


def sources(value: Any) -> Iterator[Any]:
    """The iterator itself, and those that it reads from: a `zip` that is new may read from an old generator."""
    yield value
    for each in inside(value) if moves(value) else ():
        if moves(each) or isinstance(each, _GENERATORS):
            yield from sources(each)


def _copy(value: Any, copies: Copies) -> Any:
    if isinstance(value, _GENERATORS):
        raise _NoCopy
    if not moves(value):
        return value
    if id(value) not in copies:
        copies[id(value)] = (value, _made_again(value, copies))
    return copies[id(value)][1]


def _made_again(value: Any, copies: Copies) -> Any:
    if isinstance(value, _METHODS):
        return getattr(_copy(value.__self__, copies), value.__name__)
    if type(value) is tuple:
        return tuple(_copy(each, copies) for each in value)
    if not _tells(value):
        return _from_text(value)
    make, arguments, *state = value.__reduce__()
    made = make(*(_copy(each, copies) for each in arguments))
    if state and state[0] is not None:
        made.__setstate__(_state(state[0], copies))
    return made


def _tells(value: Any) -> bool:
    """Whether it says how to make it again: from Python 3.14 on, itertools do not, and iterators of files never did.

    What `object` says for them is wrong: a copy without anything in it.
    """
    theirs: Any = type(value).__reduce__
    return theirs is not object.__reduce__ and type(value) is not types.BuiltinMethodType


def _state(state: Any, copies: Copies) -> Any:
    if isinstance(state, tuple):
        return tuple(_state(each, copies) for each in state)
    return list(state) if type(state) is list else _copy(state, copies)  # `cycle` adds to the list it has seen


def _from_text(value: Any) -> Any:
    text = repr(value)
    if not text.startswith("count("):
        raise _NoCopy
    try:
        return type(value)(*ast.literal_eval(f"({text.removeprefix('count(').removesuffix(')')},)"))
    except (ValueError, SyntaxError):
        raise _NoCopy from None


def loader_iterator_undo(iterator: dataloader._BaseDataLoaderIter) -> Undo | None:
    """`iter(loader)` begins anew if nothing was read yet. None with workers, or once it has begun."""
    sampling = iterator._sampler_iter
    begun = isinstance(sampling, types.GeneratorType) and not is_unread(sampling)
    single = type(iterator) is dataloader._SingleProcessDataLoaderIter
    if not single or begun or iterator._num_yielded or iterator._dataset_kind != dataloader._DatasetKind.Map:
        return None
    before = dict(vars(iterator))

    def undo() -> None:
        vars(iterator).update(before)
        iterator._sampler_iter = iter(iterator._index_sampler)

    return undo


def is_unread(value: Any) -> bool:
    return isinstance(value, types.GeneratorType) and inspect.getgeneratorstate(value) == inspect.GEN_CREATED


def named(value: Any) -> str:
    """What it is, as a reason tells it."""
    if isinstance(value, _GENERATORS):
        return f"the generator {value.__name__}(), which cannot be rewound"
    if isinstance(value, dataloader._BaseDataLoaderIter):
        return "an iterator of a DataLoader that has workers or has been read from"
    if isinstance(value, _METHODS):
        return f"a method of {named(value.__self__)}"
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} `{name}`"
