"""Weights that a model itself declares to be one, and that are two.

Models that are stored with their configuration say there that the embedding of tokens and the layer that maps back to
them share their weight (`tie_word_embeddings`), which of their layers these are (`get_input_embeddings()`,
`get_output_embeddings()`), and that their class ties them. Where all three are said and the weights are two Parameters,
a layer was replaced or copied afterwards. Whatever they learn, only one of them is stored, and both become that one
when the model is loaded again: this is wrong for any such model, however well it trains. Who wants two weights says so
in the configuration. A part that is frozen, or wrapped by adapters, was taken apart on purpose and is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ....records.wiring import TiedPair
from ....tensors.module_paths import full_path


def declared_but_apart(prefix: str, model: nn.Module) -> Iterator[tuple[TiedPair, Tensor, Tensor]]:
    """Each model inside this one that declares a tie and does not have it, with the names of the two weights."""
    for part in model.modules():
        both = _declared(part)
        if both is None:
            continue
        names = {id(each): name for name, each in model.named_modules()}
        paths = [names[id(layer)] for layer in both if id(layer) in names]
        weights = [w for w in (layer._parameters.get("weight") for layer in both) if w is not None]
        if len(paths) != 2 or len(weights) != 2 or any(is_lazy(w) or not w.requires_grad for w in weights):
            continue
        first, second = weights
        if first is not second and first.shape == second.shape and first.data_ptr() != second.data_ptr():
            one, other = (full_path(prefix, each, "weight") for each in paths)
            yield TiedPair(one, other, "declared", "configuration"), first, second


def _declared(part: nn.Module) -> tuple[nn.Module, nn.Module] | None:
    """The embedding and the output layer of a model that says of itself that it ties them."""
    tied = getattr(getattr(part, "config", None), "tie_word_embeddings", None)
    if tied is not True or not getattr(part, "_tied_weights_keys", None):
        return None
    found: list[nn.Module] = []
    for name in ("get_input_embeddings", "get_output_embeddings"):
        with suppress(Exception):  # a model without such a layer may raise
            found.append(getattr(part, name)())
    if len(found) != 2 or type(found[0]) is not nn.Embedding or type(found[1]) is not nn.Linear:
        return None
    return found[0], found[1]
