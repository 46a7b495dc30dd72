"""id-out-of-range: an id that the table does not have

What happens
    An embedding of 50 rows knows the ids 0 to 49. A tokenizer that has since learnt more words, an id for padding that
    was added last, ids that are counted from 1, a sequence that is longer than the table of positions: torch raises
    "index out of range in self", and says neither which id nor which table. On an accelerator the process dies.

How severe it is
    Critical: an `IndexError` on a CPU, and on a GPU an assertion that ends the process.

How it is recognised
    The step that raises is run once more, and the call that raised is seen with what it was given: the ids that are
    beyond the table, the field of the batch and the sample that they are in, and the table.

How to fix it
    Make the table as large as the vocabulary, `nn.Embedding(len(vocabulary), width)`, special tokens included, or give
    words that are not in it the id of one that is ("unknown"). Shorten sequences to the positions that there are.

What not to do
    Clamp the ids: another word is looked up in their place.

How to prevent it
    Take the size of the table from the vocabulary (`len(tokenizer)`), never from a number typed twice, and assert
    `ids.max() < table.num_embeddings` where ids are made. `data_is_healthy` looks at them.

When this is wrong
    An id that only marks something (-1 for "none") is data, not a row: replace it before the table sees it.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls, raised
from ..records.errors import BadIndex, ErrorContext
from ..records.loss_functions import NAMES
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 1
CURABLE = False
EXPLAINS = (CRASH,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.INDICES:
        return None
    seen, found = crash.seen, crash.seen.bad_index
    if found is None or seen.call is None or seen.call.function in (*NAMES, "one_hot"):
        return None
    table = _table(seen, found)
    made = None if seen.module is None else trace.wiring.modules.get(seen.module.path)
    beyond = f"is {'not in' if found.value < 0 else 'beyond'} {table}"
    rows = f"has {wording.plural(found.rows, 'row')}: 0 to {wording.count(found.rows - 1)}"
    return Suspicion(
        statement=f"id {wording.count(found.value)} {beyond}, which {rows}",
        evidence=(
            Evidence(
                f"{wording.count(found.count)} of {wording.plural(found.total, 'id')}{_of(found)} "
                f"{wording.is_or_are(found.count)} not there{_first(found)}",
                float(found.value),
                crash.place,
            ),
            Evidence(f"the ids lie between {wording.count(found.low)} and {wording.count(found.high)}"),
        ),
        why="there is no row to look up",
        places=loss_calls.places(crash.place, None if made is None else made.place),
        fix=_fix(found, seen),
        not_this="clamping the ids: another row is looked up in their place",
    )


def _table(seen: ErrorContext, found: BadIndex) -> str:
    if seen.module is not None and "num_embeddings" in seen.module.sizes:
        return seen.module.spoken
    return found.table or "the table"


def _of(found: BadIndex) -> str:
    return f" in {found.name}" if found.name else " that the step has computed"


def _first(found: BadIndex) -> str:
    if found.sample is None:
        return ""
    position = "" if found.position is None else f", position {found.position}"
    return f", the first in sample {found.sample}{position}"


def _fix(found: BadIndex, seen: ErrorContext) -> Fix:
    if found.low < 0:
        return Fix("give what has no id one of its own before it is looked up:", ("ids[ids < 0] = unknown",))
    if found.low == 1 and found.high == found.rows:
        return Fix("count the ids from 0:", ("ids = ids - 1",))
    if not found.name:
        return Fix(f"make the table larger, or the sequences shorter: it needs {wording.count(found.high + 1)} rows")
    if seen.module is not None and "num_embeddings" in seen.module.sizes:
        larger = f"nn.Embedding({found.high + 1}, ...)  # as many as the vocabulary has, special tokens included"
        return Fix("make the table as large as the vocabulary:", (larger,))
    return Fix(f"make the table as large as the ids need it ({wording.count(found.high + 1)} rows), or map the ids")
