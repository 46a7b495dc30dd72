"""What an error of torch's is about, by its class and its words.

Torch has no classes of its own for its errors: a shape, a type and a freed graph are RuntimeErrors all. The words are
those of torch 2.1 to 2.13, of numpy and of Python; an error in other words is about nothing that is known, and stays
what it is.
"""

from __future__ import annotations

import re

from ..records.numbers import Crash

SHAPES = "shapes"
TYPES = "types"
DEVICES = "devices"
INDICES = "indices"
FREED_GRAPH = "freed graph"
WRITTEN_OVER = "written over"
MEMORY = "memory"
USED_UP = "used up"
NOT_SCALAR = "not scalar"
NO_GRAPH = "no graph"
BATCH_NORM = "batch norm"

#: The first that fits. Memory and the graph come first: their messages quote shapes.
_WORDS: tuple[tuple[str, str], ...] = (
    (MEMORY, r"can't allocate memory|out of memory|[Uu]nable to allocate"),
    (FREED_GRAPH, r"backward through the graph a second time|access saved \w+ after they have already been freed"),
    (
        WRITTEN_OVER,
        r"modified by an inplace operation|leaf Variable that requires grad is being used in an in-place|"
        r"is a view and (?:is being|its base or another view of its base has been) modified inplace|"
        r"leaf variable has been moved into the graph interior",
    ),
    (NOT_SCALAR, r"grad can be implicitly created only for scalar outputs"),
    (NO_GRAPH, r"'(?:float|int)' object has no attribute 'backward'"),
    (BATCH_NORM, r"[Ee]xpected more than 1 value per channel"),
    (
        DEVICES,
        r"tensors? to be on the same device|is not on the expected device|"
        r"Input type \(.*\) and weight type \(.*cuda|Placeholder storage has not been allocated|"
        r"(?:indices|index|input|self) should be (?:either )?on (?:the same|cpu)|must be on the same device",
    ),
    (
        INDICES,
        r"index out of range in self|[Ii]ndex -?\d+ is out of bounds for|index -?\d+ is out of bounds|"
        r"Target -?\d+ is out of bounds|Class values must be|indices? (?:element )?is out of",
    ),
    (
        TYPES,
        r"must have the same dtype|does not match weight dtype|"
        r"expected (?:m1 and m2 to have the same dtype|scalar type|target dtype|dtype)|"
        r"Expected (?:object of scalar type|.*to have (?:scalar type|one of the following scalar types)|.*dtype)|"
        r"Input type \(.*\) and (?:bias|weight) type|Found dtype|not implemented for '|result type \w+ can't be cast|"
        r"mixed dtype|same dtype|only Tensors of floating point|one_hot is only applicable to index tensor|"
        r"tensors used as indices must be|could not infer output dtype|can only be used with",
    ),
    (
        SHAPES,
        r"shapes cannot be multiplied|size mismatch|inconsistent tensor size|"
        r"must match the size of tensor|The (?:expanded )?size of (?:the )?tensor|"
        r"channels, but got|Expected \d+D|Expected .*(?:batch_size|input batch)|batch1|batch2|"
        r"Target size .* must be the same|Sizes of tensors must match|stack expects each tensor|"
        r"shape '.*' is invalid for input|is not compatible with|[Ee]xpected size|"
        r"Given normalized_shape|normalized_shape|running_mean should contain|weight should contain|"
        r"input\.size\(-1\) must be equal to|Expected hidden|input must have|Expected input|embed_dim|"
        r"was expecting embedding dimension|Kernel size can't be greater|only batches of spatial targets|"
        r"1D target tensor expected|[Dd]imension out of range|Tensors must have same number of dimensions|"
        r"too many indices for tensor|The shape of the mask|could not broadcast|operands could not be broadcast|"
        r"einsum\(\)|view size is not compatible|"
        r"[Oo]utput with shape .* doesn't match|shape mismatch|to have the same (?:batch )?size|inner dimension",
    ),
)
_FROM_TORCH = {"RuntimeError", "ValueError", "IndexError", "TypeError", "NotImplementedError", "AttributeError"}
_OWN_AFFAIRS = {"AssertionError"}
_MEMORY_ERRORS = {"MemoryError", "OutOfMemoryError", "_ArrayMemoryError"}


def about(crash: Crash) -> str:
    """Empty for an error that is nothing of the kind: one of the user's own, above all."""
    kind, message = crash.first_kind, crash.first_message
    if is_about_memory(kind, message):
        return MEMORY
    if kind == "StopIteration" or message == "generator raised StopIteration":
        return USED_UP
    if kind not in _FROM_TORCH:
        return ""
    return next((what for what, words in _WORDS if re.search(words, message)), "")


def is_about_memory(kind: str, message: str) -> bool:
    return kind in _MEMORY_ERRORS or (kind in _FROM_TORCH and re.search(_WORDS[0][1], message) is not None)


def is_about_values(crash: Crash) -> bool:
    """It was given a NaN, or an infinity, and that is what it complains about.

    A NaN may be there by design, marking what is missing. So an error about shapes or types is about those, and one
    that a test raises itself (an assertion) is its own affair.
    """
    return bool(crash.seen.not_finite) and not about(crash) and crash.first_kind not in _OWN_AFFAIRS
