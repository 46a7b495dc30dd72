"""How well inputs predict targets: kernel ridge regression, with each sample left out of its own prediction.

With a linear smoother, one matrix gives the left-out predictions for every order of the targets that is tried.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Share of samples in one class: beyond this a constant answer does as well. By judgement: of 48 samples fewer than 10
#: are left to predict.
_MOST_IN_ONE_CLASS = 0.8
#: Classes per sample. By judgement: with fewer than 4 samples of a class there is too little to learn it from.
_MOST_CLASSES = 0.25
#: Columns after random projection, few enough to take milliseconds. By judgement: 256 random columns keep squared
#: distances within sqrt(2 / 256) = 9 %.
_COLUMNS = 256
#: Columns at either end that are examined one by one. By judgement: 32, as a series is continued at its ends.
_ENDS = 32
#: Most different tokens that are counted. By judgement: a test has no larger vocabulary than 4,096.
_MOST_TOKENS = 4096
#: Relative to the mean of the diagonal. By judgement: enough for a kernel of few samples, little compared with what it
#: explains.
_RIDGE = 0.1
#: Correlation of samples some positions apart: windows of a series. By judgement: among 64 columns of 48 random samples
#: the largest is 0.52 by median (0.66 at most in 200 draws), of 256 samples 0.23 (0.31); exceeding it only means that
#: nothing is reported.
_ALIKE = 0.6
#: Correlation of a single column with the target. By judgement: among 64 random columns of 48 samples the largest is
#: 0.37 by median, and 0.55 at most in 200 draws.
_TOLD_BY_ONE = 0.75


class Teller:
    """Predicts targets from one set of inputs, a row per sample. For `tokens`, it counts those that a sample holds."""

    def __init__(self, inputs: Tensor, tokens: bool = False) -> None:
        self.columns = inputs if inputs.shape[1] <= 2 * _ENDS else torch.cat([inputs[:, :_ENDS], inputs[:, -_ENDS:]], 1)
        self._rows = projected(_standard(counted(inputs) if tokens else inputs), _COLUMNS)
        self._smoothers: list[Callable[[Tensor], Tensor]] = []

    def score(self, targets: Tensor, classes: bool, enough: Callable[[float], bool] = lambda _: False) -> float:
        """The accuracy, or the explained share of the variance; the better of two kernels.

        `enough`: whether a score says all there is to know. Then the second kernel, which takes milliseconds, is not
        made: every healthy training pays for it.
        """
        best = _score(self._smoother(0), targets, classes)
        return best if enough(best) else max(best, _score(self._smoother(1), targets, classes))

    def _smoother(self, number: int) -> Callable[[Tensor], Tensor]:
        while len(self._smoothers) <= number:
            self._smoothers.append(_left_out(_KERNELS[len(self._smoothers)](self._rows)))
        return self._smoothers[number]

    def hangs_together(self, lag: int) -> bool:
        """Samples `lag` apart share values (windows of a series) or are similar: their order matters."""
        ahead, behind = self.columns[lag:], self.columns[:-lag]
        return bool((_standard(ahead).T @ _standard(behind) / len(ahead)).abs().max() > _ALIKE)

    def holds(self, targets: Tensor) -> bool:
        """A single column predicts the target: inputs continue where a target ended (a series in pieces)."""
        return bool((_standard(self.columns).T @ _standard(targets) / len(targets)).abs().max() > _TOLD_BY_ONE)


def chance(targets: Tensor, classes: bool) -> float | None:
    """The score of a constant answer. None if nothing can score much more."""
    if not classes:
        return 0.0 if float(targets.std(0).min()) > 0 else None
    counts = torch.unique(targets, return_counts=True)[1]
    most = float(counts.max()) / len(targets)
    return None if most > _MOST_IN_ONE_CLASS or len(counts) > _MOST_CLASSES * len(targets) else most


def projected(rows: Tensor, columns: int) -> Tensor:
    """No more columns than these, which keep the distances between rows, more or less."""
    if rows.shape[1] <= columns:
        return rows
    generator = torch.Generator("cpu").manual_seed(0)
    mixing = torch.randn(rows.shape[1], columns, generator=generator, device="cpu")
    found: Tensor = rows @ (mixing.to(rows) / columns**0.5)
    return found


def _linear(rows: Tensor) -> Tensor:
    return rows @ rows.T / rows.shape[1]


def _by_distance(rows: Tensor) -> Tensor:
    distances = torch.cdist(rows, rows) ** 2
    return torch.exp(-distances / (float(distances.median()) or 1.0))


_KERNELS = (_linear, _by_distance)


def _left_out(kernel: Tensor) -> Callable[[Tensor], Tensor]:
    size = len(kernel)
    centred = kernel - kernel.mean(0) - kernel.mean(1, keepdim=True) + kernel.mean()
    ridge = _RIDGE * float(centred.diagonal().mean()) + 1e-9
    unit = torch.eye(size, dtype=kernel.dtype, device=kernel.device)
    hat = unit - ridge * _inverse(centred + ridge * unit) + 1.0 / size
    rest = (1 - hat.diagonal()).clamp(min=1e-6)[:, None]
    return lambda values: values - (values - hat @ values) / rest


def _inverse(kernel: Tensor) -> Tensor:
    """By its root, in half the time: a kernel with a ridge has no eigenvalue below it, but for rounding."""
    root, failed = torch.linalg.cholesky_ex(kernel)
    return torch.linalg.inv(kernel) if int(failed) else torch.cholesky_inverse(root)


def _score(smooth: Callable[[Tensor], Tensor], targets: Tensor, classes: bool) -> float:
    if classes:
        known, index = torch.unique(targets, return_inverse=True)
        guesses = smooth(torch.nn.functional.one_hot(index.flatten(), len(known)).double()).argmax(1)
        return float((guesses == index.flatten()).double().mean())
    left = (targets - smooth(targets)).square().mean(0) / targets.var(0, correction=0)
    return float(1 - left.mean())


def counted(tokens: Tensor) -> Tensor:
    """How often each token comes in a sample."""
    known, index = torch.unique(tokens, return_inverse=True)
    if len(known) > _MOST_TOKENS:
        return tokens
    return tokens.new_zeros(len(tokens), len(known)).scatter_add_(1, index, torch.ones_like(tokens))


def _standard(values: Tensor) -> Tensor:
    return (values - values.mean(0)) / values.std(0, correction=0).clamp(min=1e-6)


class Pupil:
    """Learns classes from some samples; tells those of each of them, left out in turn, and those of other samples.

    Of the two kernels the one that does better on the samples left out.
    """

    def __init__(self, inputs: Tensor, classes: Tensor, others: Tensor) -> None:
        rows = projected(_standard(torch.cat([inputs, others])), _COLUMNS)
        many, answers = len(inputs), torch.nn.functional.one_hot(classes).double()
        best = -1.0
        for kernel in _KERNELS:
            both = kernel(rows)
            inner, outer = both[:many, :many], both[many:, :many]
            guesses = _left_out(inner)(answers).argmax(1)
            right = float((guesses == classes).double().mean())
            if right > best:
                best, self._guesses = right, guesses
                self._others = _predicted(inner, outer, answers).argmax(1)

    def left_out(self) -> Tensor:
        return self._guesses

    def of_others(self) -> Tensor:
        return self._others


def _predicted(inner: Tensor, outer: Tensor, answers: Tensor) -> Tensor:
    """The same smoother, for samples that it has not learnt from."""
    unit = torch.eye(len(inner), dtype=inner.dtype, device=inner.device)
    centred = inner - inner.mean(0) - inner.mean(1, keepdim=True) + inner.mean()
    ridge = _RIDGE * float(centred.diagonal().mean()) + 1e-9
    weights = torch.linalg.solve(centred + ridge * unit, answers - answers.mean(0))
    apart = outer - inner.mean(0) - outer.mean(1, keepdim=True) + inner.mean()
    found: Tensor = apart @ weights + answers.mean(0)
    return found
