"""Whether the loss is computed with derivatives of the model: Hamiltonian networks, energies, scores, penalties.

A network that is used only through its gradient has no use for its last bias.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ...run.signal import Cost, Signal


class Derivatives(Signal):
    NAME, COST = "derivatives", Cost.CLOSE

    def derivatives_taken(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], derivatives: Sequence[object]
    ) -> None:
        with_graph = any(isinstance(each, Tensor) and each.requires_grad for each in derivatives)
        self._run.trace.wiring.through_derivatives |= with_graph
