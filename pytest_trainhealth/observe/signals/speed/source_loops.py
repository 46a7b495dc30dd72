"""Which loops contain a line, according to the source: loops over samples or time steps, not those over layers."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Loop = ast.For | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def loops_around(file: str, line: int) -> list[range]:
    """The lines of each loop around this line, the outermost first."""
    return [lines for lines in _loops(file) if line in lines]


@lru_cache(maxsize=16)
def _loops(file: str) -> tuple[range, ...]:
    """Empty if there is no source."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    loops = [n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.While, *_COMPREHENSIONS)) and not _of_layers(n)]
    found = [range(loop.lineno, (loop.end_lineno or loop.lineno) + 1) for loop in loops]
    return tuple(sorted(found, key=lambda lines: (lines.start, -lines.stop)))


def _of_layers(loop: _Loop) -> bool:
    """`for layer in self.layers: x = layer(x)`: every round does something else, so they cannot be batched."""
    if isinstance(loop, ast.While):
        return False
    targets = [loop.target] if isinstance(loop, ast.For) else [part.target for part in loop.generators]
    names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return any(_calls_one_of(names, node) for node in ast.walk(loop) if isinstance(node, ast.Call))


def _calls_one_of(names: set[str], call: ast.Call) -> bool:
    """`layer(x)`, `self.layers[i](x)`, `block.attention(x)`; but `sample.mean(0)` is a method of the sample."""
    if isinstance(call.func, ast.Attribute) and all(isinstance(each, ast.Constant) for each in call.args):
        return False
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(call.func))
