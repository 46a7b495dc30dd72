"""tied-weights-broken: two tensors where one was meant

What happens
    Weights that should be shared (an embedding and the output layer, an encoder and the transposed decoder) were copied
    instead: they start equal, get their own gradients, and drift apart. The model has more parameters than it seems to
    have. Where only the memory is shared (`head.weight.data = embed.weight.data`), the optimizer updates it twice with
    two states, and the tie is lost with the next `.to()` or `load_state_dict()`.

How severe it is
    High: two tensors are learnt where one was meant, and the saved model has a part that nobody trained.

How it is recognised
    An embedding's weight and a linear layer's of the same shape, or two linear layers' of transposed shapes (or a
    linear layer's and a bare `nn.Parameter`), start with exactly the same random values in two Parameters, both learn,
    and they differ after a few steps; and something shows that a tie was meant: a layer's own Parameter was replaced by
    the copy, or your source speaks of a tie. Or two Parameters have the same memory. Or a network that your source
    calls siamese has two towers with equal values, which both learn and drift apart. Or a model's configuration says
    `tie_word_embeddings`, and its embedding and its output layer have a Parameter each, which both learn.

How to fix it
    Assign the Parameter itself: `self.head.weight = self.embed.weight`, or use it in `forward()`:
    `F.linear(x, self.encoder.weight.t())`. After a layer of a Hugging Face model was replaced: `model.tie_weights()`,
    or `tie_word_embeddings=False` in its configuration if two are meant.

What not to do
    Copy the values from time to time: the optimizer's state is not updated with them.

How to prevent it
    Tie after the last change (`.to()`, loading, resizing), and assert `a.weight is b.weight`. `gradients_flow` looks at
    ties that the source declares.

When this is wrong
    Weights that are meant to start equal and to learn on their own, such as the decoder of a sparse autoencoder: copy
    the values into the Parameter that is there, and nothing is reported. Cloned layers of one kind
    (`nn.TransformerEncoder` copies its layer), target networks and frozen copies are not reported.
"""

from __future__ import annotations

from ..analysis import wiring
from ..records.symptoms import SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import TiedPair
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 13
EXPLAINS = (SILENT,)
CURABLE = False


#: What shows that one tensor was meant.
_MEANT = {
    "memory": "",
    "assigned": ", and one was assigned where the other layer had its own, as for a tie",
    "said": ", and the source says that they are tied",
    "siamese": ", and a siamese network has one tower for both of its inputs",
    "configuration": "; when the model is stored and loaded again, one of them is lost",
}


_WHY = {
    "memory": "the memory was shared, not the Parameter",
    "declared": "a layer was replaced after the model had tied its weights",
}


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    pairs = wiring.broken_ties(trace)
    if not pairs:
        return None
    pair = pairs[0]
    both = [trace.wiring.parameters[name] for name in (pair.first, pair.second)]
    modules = [trace.wiring.modules.get(p.module) for p in both]
    places = tuple(m.place for m in modules if m is not None and m.place is not None)
    return Suspicion(
        statement=_statement(pair),
        evidence=(
            Evidence(_what_was_seen(pair, both[0].size), float(both[0].size)),
            Evidence(f"{pair.first} and {pair.second} got their own gradients{_MEANT[pair.meant]}"),
        ),
        why=_WHY.get(pair.how, "the values were copied once"),
        places=places[-1:],
        fix=_fix(pair),
        not_this="copying the values from time to time: the optimizer's state is not updated with them",
    )


def _statement(pair: TiedPair) -> str:
    if pair.how == "memory":
        return f"{pair.first} and {pair.second} are two parameters in one memory"
    if pair.how == "declared":
        return f"{pair.second} is not tied to {pair.first}, against the configuration"
    return f"{pair.first} and {pair.second} start equal and drift apart"


def _what_was_seen(pair: TiedPair, size: int) -> str:
    if pair.how == "memory":
        return f"both have the same address, and each is updated separately ({size:,} values)"
    if pair.how == "declared":
        return f"tie_word_embeddings is True, and the output layer has {size:,} values of its own"
    how = "one the transpose of the other, " if pair.how == "transposed" else ""
    return f"all {size:,} values were equal at the start, {how}and differ after a few steps"


def _fix(pair: TiedPair) -> Fix:
    if pair.how == "declared":
        return Fix("tie them again after the last change to the model:", ("model.tie_weights()",))
    if pair.meant == "siamese":
        first, second = (_tower(one, other) for one, other in ((pair.first, pair.second), (pair.second, pair.first)))
        return Fix("use one module for both:", (f"self.{second} = self.{first}",))
    if pair.how == "transposed":
        module = pair.first.rpartition(".")[0]
        return Fix("use one Parameter for both, in forward():", (f"F.linear(x, self.{module}.weight.t())",))
    return Fix("assign the Parameter itself:", (f"model.{pair.second} = model.{pair.first}",))


def _tower(one: str, other: str) -> str:
    """Where their names part: `left` of left.0.weight and right.0.weight."""
    return next((a for a, b in zip(one.split("."), other.split("."), strict=False) if a != b), one)
