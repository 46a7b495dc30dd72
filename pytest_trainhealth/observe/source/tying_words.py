"""Whether the user's own source says that weights are tied: a method, a variable, a comment, a docstring."""

from __future__ import annotations

import inspect
import re

from torch import nn

from .authorship import package_of

#: `tie_weights()`, `self.tied`, `TiedDecoder`, `# weight tying`; but no ties that are broken.
_TIED = re.compile(r"(?:(?<![A-Za-z])[Tt]|(?<=[a-z])T)(?:ied?|ying)(?![a-z]|[-_ ]?[Bb]reak)")
#: `untied`, "not tied": whoever says that means the opposite.
_NOT_TIED = re.compile(r"(?<![a-z])un-?(?:tie|tied|tying)|\b(?:not|never|isn't|aren't)\s+(?:be\s+)?tied", re.IGNORECASE)


#: A siamese network has one tower for both of its inputs: that is what the word says. Some are siamese in part.
_SIAMESE = re.compile(r"siamese", re.IGNORECASE)
_IN_PART = re.compile(r"(?:pseudo|semi|half|quasi|non)[-_ ]?siamese|un-?shared|not\s+(?:be\s+)?shared", re.IGNORECASE)


def says_siamese(kind: type) -> bool:
    """A class of the user's, by its name or its source. To read that takes as long as many steps: ask it last."""
    if package_of(kind) != "user":
        return False
    text = _source(kind) or kind.__name__
    return bool(_SIAMESE.search(text)) and not _IN_PART.search(text) and not _NOT_TIED.search(text)


def says_tied(model: nn.Module) -> bool:
    """In the classes of the user's that the model is made of."""
    kinds = {type(module) for module in model.modules() if package_of(type(module)) == "user"}
    sources = [_source(kind) for kind in kinds]
    return any(_TIED.search(text) for text in sources) and not any(_NOT_TIED.search(text) for text in sources)


def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # typed into a console, or generated
        return ""
