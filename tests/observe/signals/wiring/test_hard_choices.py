"""Tables from which a row is chosen: does anything but the pull towards that row reach what it was chosen for?"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose


class Images(nn.Module):
    """A table that is a buffer, rows by a product with ones and zeros, channels before positions."""

    def __init__(self, passes: bool = False) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Conv2d(1, 4, 2, 2), nn.ConvTranspose2d(4, 1, 2, 2)
        self.register_buffer("table", torch.randn(10, 4))
        self.passes = passes

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.encoder(x).permute(0, 2, 3, 1)
        distances = (z.unsqueeze(-2) - self.table).pow(2).sum(-1)
        chosen = F.one_hot(distances.min(-1).indices, 10).float() @ self.table
        pull = F.mse_loss(z, chosen.detach())
        chosen = z + (chosen - z).detach() if self.passes else chosen
        return self.decoder(chosen.permute(0, 3, 1, 2)), pull


class Words(nn.Module):
    """A table that is a parameter, indexed; scores instead of distances."""

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 6), nn.Linear(6, 8)
        self.table, self.kind = nn.Parameter(torch.randn(12, 6)), kind

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.encoder(x.flatten(1)[:, :8])
        chosen = self.table[(z @ self.table.T).argmax(1)]
        pull = ((z - chosen.detach()) ** 2).mean() + ((z.detach() - chosen) ** 2).mean()
        if self.kind == "beside":  # the rows are for looking at; the model goes on with what it has computed
            return self.decoder(z), pull
        if self.kind == "also":  # the row is given to the decoder together with what it was chosen for
            return self.decoder(chosen + torch.tanh(z)), pull
        if self.kind == "soft":
            return self.decoder((z @ self.table.T).softmax(1) @ self.table), pull
        if self.kind == "groups":  # nothing but the rows: a clustering
            return x.flatten(1)[:, :8] * self.decoder.bias, pull
        return self.decoder(chosen), pull


def found(model: Any) -> tuple[str, list[str]]:
    def training() -> Training:
        net = model()

        def loss(net: nn.Module, x: Tensor) -> Tensor:
            made, pull = net(x)
            return F.mse_loss(made, x if made.ndim == 4 else x.flatten(1)[:, :8]) + 0.25 * pull

        return Training(net, torch.optim.Adam(net.parameters(), 1e-2), loss, list(torch.randn(4, 16, 1, 8, 8)))

    (verdict,) = diagnose(training, ["gradients_flow"]).verdicts
    return verdict.outcome, [finding.cause for finding in verdict.findings]


@pytest.mark.parametrize("model", [Images, Words])
def test_only_the_pull_towards_a_row_comes_back(model):
    assert found(model) == ("failed", ["disconnected-graph"])


@pytest.mark.parametrize(
    "model", [lambda: Images(passes=True), *(lambda kind=kind: Words(kind) for kind in ("beside", "also", "soft"))],
    ids=["straight through", "beside the model", "together with it", "a mixture of rows"],
)  # fmt: skip
def test_what_else_of_the_loss_comes_back_is_no_alarm(model):
    assert found(model)[0] == "passed"


def test_a_clustering_is_none_either():
    assert "disconnected-graph" not in found(lambda: Words("groups"))[1]
