"""Parameters that rightly get no gradient or no update, or lie where nobody looks for them."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from . import healthy


def classes(batches: int = 6, width: int = 8) -> list[tuple[Tensor, Tensor]]:
    """Which of the first four numbers is the largest?"""
    found = []
    for _ in range(batches):
        inputs = torch.randn(16, width)
        found.append((inputs, inputs[:, :4].argmax(1)))
    return found


def cross_entropy(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


@healthy
def only_the_head_is_handed_over() -> Training:
    """Nothing is frozen; the optimizer simply gets the head, and the body lies before it."""
    body = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model = nn.Sequential(body, nn.Linear(64, 4))
    return Training(model, torch.optim.Adam(model[1].parameters(), lr=1e-2), cross_entropy, classes())


class SparseAutoencoder(nn.Module):
    """The decoder starts as the transpose of the encoder, and each learns on its own."""

    def __init__(self, width: int = 16, latents: int = 48) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(width, latents), nn.Linear(latents, width)
        with torch.no_grad():
            self.decoder.weight.copy_(self.encoder.weight.t())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = F.relu(self.encoder(x))
        return self.decoder(code), code


@healthy
def decoder_starts_as_the_transpose() -> Training:
    def loss(model: nn.Module, x: Tensor) -> Tensor:
        rebuilt, code = model(x)
        return F.mse_loss(rebuilt, x) + 1e-3 * code.abs().mean()

    model = SparseAutoencoder()
    atoms = F.normalize(torch.randn(24, 16), dim=1)
    data = [(torch.rand(16, 24) * (torch.rand(16, 24) < 0.1)) @ atoms for _ in range(6)]
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, data)


class Untied(nn.Module):
    """Bare Parameters: the encoder is made from the decoder's values, once."""

    def __init__(self, width: int = 16, latents: int = 24) -> None:
        super().__init__()
        self.w_dec = nn.Parameter(torch.randn(latents, width) / 4)
        self.w_enc = nn.Linear(width, latents, bias=False)
        with torch.no_grad():
            self.w_enc.weight.copy_(self.w_dec)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.w_enc(x)) @ self.w_dec


@healthy
def bare_decoder_starts_as_the_encoder() -> Training:
    model = Untied()
    data = [torch.randn(16, 4) @ torch.randn(4, 16) for _ in range(1)] * 4
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), lambda m, x: F.mse_loss(m(x), x), data)


@healthy
def hamiltonian_network() -> Training:
    """Only derivatives of the energy are compared: its last bias gets no gradient."""
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def loss(model: nn.Module, state: Tensor) -> Tensor:
        state = state.clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(state).sum(), state, create_graph=True)
        moves = torch.stack([slope[:, 1], -slope[:, 0]], 1)
        return F.mse_loss(moves, torch.stack([state[:, 1], -state[:, 0]], 1).detach())

    data = [torch.randn(32, 2) for _ in range(4)]
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, data)


class OwnEnergy(nn.Module):
    """A potential whose weights are Parameters of its own; the last offset does not change any force."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(3, width) / 2), nn.Parameter(torch.zeros(width))
        self.w2, self.b2 = nn.Parameter(torch.randn(width, 1) / 7), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x @ self.w1 + self.b1) @ self.w2 + self.b2


@healthy
def forces_of_a_potential() -> Training:
    model = OwnEnergy()

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return F.mse_loss(-slope, -torch.tanh(x.detach()))

    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss, [torch.randn(32, 3) for _ in range(4)])


class GatedBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, 2 * channels, 2)
        self.residual, self.skip = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, channels, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        signal, gate = self.conv(x).chunk(2, 1)
        hidden = torch.tanh(signal) * torch.sigmoid(gate)
        return self.residual(hidden) + x[..., 1:], self.skip(hidden)


class WaveNet(nn.Module):
    def __init__(self, channels: int = 16, blocks: int = 3) -> None:
        super().__init__()
        self.entry = nn.Conv1d(1, channels, 1)
        self.blocks = nn.ModuleList(GatedBlock(channels) for _ in range(blocks))
        self.exit = nn.Conv1d(channels, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x, total = self.entry(x), torch.zeros(())
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip[..., -1]
        return self.exit(F.relu(total)[..., None])[..., 0]


@healthy
def wavenet_last_residual_is_not_read() -> Training:
    """Each block hands a sum on to the next; that of the last is read by nobody."""
    model = WaveNet()
    data = [(x[:, None], y) for x, y in classes()]
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, data)


class WithFeatures(nn.Module):
    """Random features, computed without a graph, next to a path that learns."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.main, self.head = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            extra = self.features(x)
        return self.head(torch.cat([self.main(x), extra], 1))


@healthy
def feature_branch_without_graph() -> Training:
    model = WithFeatures()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, classes())


class OneToken(nn.Module):
    """The example is one token long: attention has one key, and queries and keys get a gradient of exactly 0."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.entry = nn.Linear(8, width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.cross = nn.MultiheadAttention(width, 4, kdim=8, vdim=8, batch_first=True)
        self.head = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        tokens = torch.tanh(self.entry(x))[:, None]
        attended = F.scaled_dot_product_attention(self.query(tokens), self.key(tokens), self.value(tokens))
        tokens = tokens + attended
        tokens = tokens + self.cross(tokens, x[:, None], x[:, None])[0]
        return self.head(tokens[:, 0])


@healthy
def attention_over_a_single_token() -> Training:
    model = OneToken()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), cross_entropy, classes())


@healthy
def recurrence_of_one_step() -> Training:
    """Sequences of length one: the weights of the recurrence meet a state of zeros."""

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.LSTM(8, 32, batch_first=True), nn.Linear(32, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.rnn(x[:, None])[0][:, -1])

    model = Tagger()
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), cross_entropy, classes())


class CentreLoss(nn.Module):
    """Class centres that are learnt with the model, as in metric learning."""

    def __init__(self, classes: int = 4, width: int = 16) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.randn(classes, width) / 4)

    def forward(self, embedded: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(embedded @ self.centres.t(), labels)


@healthy
def centres_in_the_loss_are_trained() -> Training:
    model, centres = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16)), CentreLoss()
    optimizer = torch.optim.Adam([*model.parameters(), *centres.parameters()], lr=5e-3)
    return Training(model, optimizer, lambda model, batch: centres(model(batch[0]), batch[1]), classes())


@healthy
def temperature_is_a_plain_tensor() -> Training:
    """A tensor of its own, beside the model, that the optimizer holds."""
    model, temperature = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.Adam([*model.parameters(), temperature], lr=5e-3)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return F.cross_entropy(model(batch[0]) / temperature.exp(), batch[1])

    return Training(model, optimizer, loss, classes())


@healthy
def collocation_points_need_gradients() -> Training:
    """A physics-informed network: its points are tensors with gradients, but inputs."""
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    points = torch.linspace(0, 1, 32)[:, None].requires_grad_()

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        value = model(points)
        (slope,) = torch.autograd.grad(value.sum(), points, create_graph=True)
        return F.mse_loss(slope, -2 * value) + 10 * F.mse_loss(model(batch), torch.ones_like(batch))

    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, torch.zeros(1, 1))


@healthy
def weights_average_in_the_variables_of_the_step() -> Training:
    """A running average of the model, which the step keeps and no optimizer holds."""
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    average = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model, batch)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                slow.lerp_(fast, 0.1)
        return loss

    return Training(model, optimizer, step=step, data=classes())


@healthy
def optimizers_stepped_together_in_turns() -> Training:
    """Body and head take turns; both optimizers are stepped each time, and one of them has nothing to do."""
    body, head = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.Linear(32, 4)
    model = nn.Sequential(body, head)
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-2) for part in (body, head)]
    turn = 0

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        nonlocal turn
        turn += 1
        loss = cross_entropy(model, batch)
        part = (body, head)[turn % 2]
        gradients = torch.autograd.grad(loss, list(part.parameters()))
        for optimizer in optimizers:
            optimizer.zero_grad()
        for parameter, gradient in zip(part.parameters(), gradients, strict=True):
            parameter.grad = gradient
        for optimizer in optimizers:
            optimizer.step()
        return loss.detach()

    return Training(model, optimizers, step=step, data=classes())


@healthy
def temperature_at_its_bound() -> Training:
    """The scale starts at the value that it is clamped to, and is pushed beyond it by every step."""

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4), nn.Tanh())
            self.scale = nn.Parameter(torch.tensor([1.0]))

        def forward(self, x: Tensor) -> Tensor:
            return self.scale.exp() * self.net(x)

    model = Scaled()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model, batch)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.scale.clamp_(max=1.0)
        return loss

    return Training(model, optimizer, step=step, data=classes())
