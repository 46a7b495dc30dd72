"""Do the columns of some inputs go together, as in real data, or is each drawn for itself, as in a smoke test?

Of independent columns, the largest eigenvalue of their correlations has a known limit (Marchenko and Pastur). Pixels
next to each other, clusters, waves and tokens that follow each other are far beyond it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

#: Times the limit. Of 2,000 draws of white noise (48 to 256 rows, 2 to 256 columns; normal, uniform, zeros and ones,
#: tokens from 5 to 64) the largest was at 1.19; tables (iris, adult, titanic) lie at 1.4 to 3.6, sine waves at 2.1,
#: digits at 7.2. Points on a spiral or in clusters of a plane (1.02) are taken for noise, about which nothing is said.
_BEYOND = 1.3
#: Skewness of a column, and how many of its standard deviations (by the square root of 6 / rows). Of 2,000 draws of
#: white noise as above the largest was at 5.2 deviations; a Poisson of 1 has a skewness of 1, an exponential of 2.
_SKEWED, _DEVIATIONS = 0.8, 6.0
#: Of the skewness of normal values, times their number: 6.
_VARIANCE = 6
#: Values of a flag: yes and no, 2.
_FLAG = 2
#: Columns that are compared. By judgement: 256 make a small matrix.
_COLUMNS = 256
#: A spread below this is none: float32 has seven digits.
_NO_SPREAD = 1e-6


def hangs_together(inputs: Tensor, tokens: bool = False) -> bool:
    rows = _followed(inputs) if tokens else inputs
    rows = rows[:, rows.std(0, correction=0) > _NO_SPREAD]
    if rows.shape[1] < 2 or len(rows) < 2:
        return False
    if rows.shape[1] > _COLUMNS:  # neighbours stay neighbours
        start = (rows.shape[1] - _COLUMNS) // 2
        rows = rows[:, start : start + _COLUMNS]
    standard = (rows - rows.mean(0)) / rows.std(0, correction=0)
    count, columns = standard.shape
    # the smaller of the two products has the same eigenvalues
    product = standard.T @ standard if columns <= count else standard @ standard.T
    largest = float(torch.linalg.eigvalsh(product / count)[-1])
    limit = (1 + math.sqrt(columns / count)) ** 2
    return bool(largest > _BEYOND * limit)


def lopsided(inputs: Tensor) -> bool:
    """A column with a long tail on one side: an income, a count, a waiting time. Smoke tests draw from even densities.

    A column of two values is no tail, but a flag or part of a one-hot code.
    """
    rows = inputs[:, inputs.std(0, correction=0) > _NO_SPREAD][:, :_COLUMNS]
    rows = rows[:, [len(torch.unique(column)) > _FLAG for column in rows.T]]
    if not rows.numel():
        return False
    standard = (rows - rows.mean(0)) / rows.std(0, correction=0)
    return float(standard.pow(3).mean(0).abs().max()) > max(_SKEWED, _DEVIATIONS * math.sqrt(_VARIANCE / len(rows)))


def _followed(tokens: Tensor) -> Tensor:
    """How often each token occurs in a row: texts repeat themselves, and random draws do so as chance has it."""
    known, index = torch.unique(tokens, return_inverse=True)
    if len(known) > _COLUMNS:
        return tokens
    return tokens.new_zeros(len(tokens), len(known)).scatter_add_(1, index, torch.ones_like(tokens))
