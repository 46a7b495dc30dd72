"""The way to a danger zone: strides along the sign of the slope, and landings where the border should be.

All samples of a batch move at once, each in its own direction, and each keeps only the moves that brought it nearer.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...budget.budget import Budget
from .data_bounds import DataBounds
from .trial_step import Aim, AimedStep, Attempt, fit

#: Moves for each operation. By judgement: a few moves lead to a danger zone within reach; the rest is for landing.
_MOVES = 20
#: Operations pursued from one step. By judgement: after 8 in vain, one more rarely leads to anything.
_OPERATIONS = 8
#: Attempts from one step, for all operations together. By judgement: 100 forward passes are half of an
#: overfits_one_batch.
_ATTEMPTS = 100
#: There are 4 ways to move, tried in turn: when all of them in a row bring no sample nearer, nothing will.
_ROUND = 4
#: A stride as a share of a feature's range. By judgement: ten strides cross the range.
_STRIDE = 0.1
#: A landing overshoots if the danger also lies beyond the border, because it rarely hits the border itself. By
#: judgement: 5 % too far is still plausible data.
_BEYOND = 1.05


class Hunt:
    """Moves the batch towards one operation after another, as long as there are attempts left."""

    def __init__(self, step: AimedStep, bounds: Mapping[str, DataBounds], budget: Budget) -> None:
        self._step, self._bounds, self._budget = step, bounds, budget
        self.operations = self.attempts = 0

    def towards(self, aim: Aim) -> tuple[Mapping[str, Tensor], int] | None:
        """The first values that break the step, and how many moves led to them."""
        now = {name: self._step.fields[name] for name in self._bounds}
        if not now or self.operations == _OPERATIONS:
            return None
        first = self._attempt(now, aim)
        if first is None or first.gaps is None or first.slopes is None:
            return None
        self.operations += 1
        gaps, slopes, reach = first.gaps, first.slopes, torch.ones_like(first.gaps)
        in_vain = 0
        for move in range(_MOVES):
            lands = move % 2 == 1
            bends = 1 + move % 4 // 2
            steps = self._landing(gaps, slopes, aim, bends) if lands else self._strides(slopes, reach)
            moved = {name: self._bounds[name].inside(now[name] + steps[name], now[name]) for name in now}
            tried = self._attempt(moved, aim)
            if tried is None:
                return None
            if not tried.finite:
                return self._confirmed(tried, move + 1)
            if tried.gaps is None or tried.slopes is None or tried.gaps.shape != gaps.shape:
                return None
            nearer = tried.gaps < gaps
            now = {name: torch.where(fit(nearer, now[name]), moved[name], now[name]) for name in now}
            slopes = {name: torch.where(fit(nearer, s), tried.slopes[name], s) for name, s in slopes.items()}
            gaps = torch.where(nearer, tried.gaps, gaps)
            if not lands:
                reach = torch.where(nearer, 1.0, reach / 2)
            in_vain = 0 if bool(nearer.any()) else in_vain + 1
            if in_vain == _ROUND:
                return None
        return None

    def _strides(self, slopes: Mapping[str, Tensor], reach: Tensor) -> dict[str, Tensor]:
        """Uses only the sign of the slope, whose size says little about the distance, close to 0 or far from it."""
        return {n: -s.sign() * self._bounds[n].width * _STRIDE * fit(reach, s).to(s.dtype) for n, s in slopes.items()}

    def _landing(self, gaps: Tensor, slopes: Mapping[str, Tensor], aim: Aim, bends: int) -> dict[str, Tensor]:
        """The shortest way to a gap of 0, if the gap shrinks linearly (`bends` 1) or like a square (2)."""
        free = {name: slope * (self._bounds[name].width > 0) for name, slope in slopes.items()}
        steepness = torch.zeros_like(gaps)
        for slope in free.values():
            steepness += slope.float().square().reshape(gaps.shape[0], -1).sum(1)
        overshoot = _BEYOND if aim.zone.beyond and bends == 1 else bends  # a square has nothing beyond its 0
        far = torch.where(steepness > 0, gaps * overshoot / steepness, 0.0)
        return {name: (-fit(far, slope) * slope).to(slope.dtype) for name, slope in free.items()}

    def _confirmed(self, hit: Attempt, moves: int) -> tuple[Mapping[str, Tensor], int] | None:
        """The hit, if the step also breaks without gradients at the inputs. Moves only one sample if that is enough."""
        if hit.gaps is not None and hit.gaps.numel() > 1:
            nearest = torch.zeros_like(hit.gaps, dtype=torch.bool)
            nearest[int(hit.gaps.nan_to_num(-torch.inf).argmin())] = True
            fields = self._step.fields
            alone = {n: torch.where(fit(nearest, v), v, fields[n]) for n, v in hit.values.items()}
            tried = self._attempt(alone)
            if tried is not None and not tried.finite:
                return alone, moves
        tried = self._attempt(hit.values)
        return (hit.values, moves) if tried is not None and not tried.finite else None

    def _attempt(self, values: Mapping[str, Tensor], aim: Aim | None = None) -> Attempt | None:
        if self.attempts == _ATTEMPTS or self._budget.over():
            return None
        self.attempts += 1
        return self._step.attempt(values, aim)
