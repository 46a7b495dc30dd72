"""Reinforcement learning and imitation, on recorded transitions or a toy world inside the step."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from . import fault

ACTIONS = 4


class Contexts:
    """A bandit with contexts: the best of four actions is a function of what is seen, and pays 1."""

    def __init__(self, n: int = 512, seen: int = 6) -> None:
        self.seen = torch.randn(n, seen)
        self.best = (self.seen @ torch.randn(seen, ACTIONS)).argmax(1)

    def batches(self, size: int = 64) -> list[tuple[Tensor, Tensor]]:
        return list(zip(self.seen.split(size), self.best.split(size), strict=True))


class Policy(nn.Module):
    def __init__(self, seen: int = 6, width: int = 48, actions: int = ACTIONS) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(seen, width), nn.Tanh(), nn.Linear(width, actions))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


class Replay(Dataset):
    """Transitions of a cart on a line that is pushed left or right; the reward is for being near the middle."""

    def __init__(self, n: int = 512) -> None:
        self.state = 2 * torch.rand(n, 2) - 1
        self.action = torch.randint(2, (n,))
        push = 0.4 * (2 * self.action - 1)
        speed = (self.state[:, 1] + push).clamp(-1, 1)
        self.following = torch.stack([(self.state[:, 0] + speed).clamp(-1, 1), speed], 1)
        self.reward = 1 - 2 * self.following[:, 0].abs()
        self.done = (torch.rand(n) < 0.1).float()

    def __len__(self) -> int:
        return len(self.state)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: getattr(self, name)[index] for name in ("state", "action", "reward", "following", "done")}


def replay(batch_size: int = 64) -> DataLoader:
    return DataLoader(Replay(), batch_size=batch_size, shuffle=True)


class QNet(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
        )

    def forward(self, state: Tensor) -> Tensor:
        return self.net(state)


@fault("wrong-loss-sign", hard=True)
def rl_policy_gradient_without_its_minus(broken: bool) -> Training:
    """The return is handed to the optimizer as it is: each step makes good actions rarer, and the 'loss' falls."""

    def step(batch: dict[str, Tensor]) -> float:
        log_prob = F.log_softmax(model(batch["seen"]), -1).gather(1, batch["action"][:, None]).squeeze(1)
        gain = (log_prob * batch["reward"]).mean()
        loss = gain if broken else -gain
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    world = Contexts()
    batches = []
    for seen, best in world.batches():
        action = torch.where(torch.rand(len(best)) < 0.5, best, torch.randint(ACTIONS, (len(best),)))
        batches.append({"seen": seen, "action": action, "reward": (action == best).float()})
    model = Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, step=step, data=batches)


@fault("missing-activation-for-loss", hard=True)
def rl_cloning_nll_of_raw_scores(broken: bool) -> Training:
    """`nll_loss` wants log-probabilities and gets the scores of a linear layer: they grow and the loss falls."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        seen, best = batch
        scores = model(seen)
        return F.nll_loss(scores if broken else F.log_softmax(scores, dim=-1), best)

    model = Policy()
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss, Contexts().batches())


class Episodes(Dataset):
    """Episodes of twelve steps; the expert's action follows from what is seen and from the action before."""

    def __init__(self, n: int = 192, length: int = 12, *, padded: bool = False) -> None:
        self.seen = torch.randn(n, length, 4)
        wish = (self.seen @ torch.randn(4, ACTIONS)).argmax(-1)
        self.action = wish.clone()
        for t in range(1, length):
            self.action[:, t] = (wish[:, t] + self.action[:, t - 1]) % ACTIONS
        self.length = torch.randint(4, length + 1, (n,)) if padded else torch.full((n,), length)
        self.mask = torch.arange(length) < self.length[:, None]
        self.seen = self.seen * self.mask[..., None]
        self.returns = torch.where(self.mask, self.seen[..., 0], 0).sum(1) / self.length.sqrt()

    def __len__(self) -> int:
        return len(self.seen)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"seen": self.seen[index], "action": self.action[index]}


class DecisionTransformer(nn.Module):
    """Reads (observation, action) step by step, and says each action from what came before it."""

    def __init__(self, width: int = 32, length: int = 12, *, causal: bool = True) -> None:
        super().__init__()
        self.see = nn.Linear(4, width)
        self.act = nn.Embedding(ACTIONS, width)
        self.position = nn.Parameter(0.1 * torch.randn(2 * length, width))
        self.block = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, ACTIONS)
        self.causal = causal

    def forward(self, seen: Tensor, action: Tensor) -> Tensor:
        tokens = torch.stack([self.see(seen), self.act(action)], 2).flatten(1, 2) + self.position
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]) if self.causal else None
        return self.head(self.block(tokens, src_mask=mask)[:, ::2])  # an action is said at its observation


@fault("target-leakage", hard=True)
def rl_decision_transformer_without_its_mask(broken: bool) -> Training:
    """No causal mask: when it says an action, the token of that very action stands right beside it."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["seen"], batch["action"])
        return F.cross_entropy(logits.flatten(0, 1), batch["action"].flatten())

    model = DecisionTransformer(causal=not broken)
    data = DataLoader(Episodes(), batch_size=16, shuffle=True)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=5e-3), loss, data)


@fault("target-shape-mismatch", hard=True)
def rl_weights_in_a_column(broken: bool) -> Training:
    """Weights (N, 1) times log-probabilities (N,) is (N, N): every action is credited with the mean advantage."""

    class ActorCritic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.actor = Policy()
            self.critic = Policy(actions=1)

        def forward(self, seen: Tensor) -> tuple[Tensor, Tensor]:
            return self.actor(seen), self.critic(seen)

    def step(batch: tuple[Tensor, Tensor, Tensor]) -> float:
        seen, action, reward = batch
        logits, value = model(seen)
        if not broken:
            value = value.squeeze(-1)
        returns = reward[:, None] if broken else reward
        log_prob = Categorical(logits=logits).log_prob(action)
        weight = torch.exp(2 * (returns - value)).detach()  # advantage-weighted regression
        loss = -(log_prob * weight).mean() + 0.5 * F.mse_loss(value, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    batches = []
    for seen, best in Contexts().batches():
        action = torch.where(torch.rand(len(best)) < 0.5, best, torch.randint(ACTIONS, (len(best),)))
        batches.append((seen, action, (action == best).float()))
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=batches)


@fault("disconnected-graph")
def rl_values_wrapped_anew(broken: bool) -> Training:
    """`torch.tensor(..., requires_grad=True)` around the Q-values, to silence backward(): it ends right there."""

    def step(batch: dict[str, Tensor]) -> Tensor:
        value = model(batch["state"]).gather(1, batch["action"][:, None]).squeeze(1)
        with torch.no_grad():
            wanted = batch["reward"] + 0.8 * (1 - batch["done"]) * target(batch["following"]).amax(1)
        if broken:
            value = torch.tensor(value.tolist(), requires_grad=True)
        loss = F.smooth_l1_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    model = QNet()
    target = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=replay())


@fault("missing-optimizer-step", hard=True)
def rl_actor_never_stepped(broken: bool) -> Training:
    """Two optimizers, and only the critic's step() is called: its loss falls, and the actor stays as it was made."""

    def step(batch: dict[str, Tensor]) -> float:
        state, reward = batch["state"], batch["reward"][:, None]
        push = 2.0 * batch["action"][:, None] - 1
        critic_loss = F.mse_loss(model["critic"](torch.cat([state, push], 1)), reward)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()

        actor_loss = -model["critic"](torch.cat([state, torch.tanh(model["actor"](state))], 1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        if not broken:
            actor_optimizer.step()
        return critic_loss.item()

    model = nn.ModuleDict({"actor": Policy(2, actions=1), "critic": Policy(3, actions=1)})
    actor_optimizer = torch.optim.Adam(model["actor"].parameters(), lr=3e-3)
    critic_optimizer = torch.optim.Adam(model["critic"].parameters(), lr=1e-2)
    optimizers = {"actor": actor_optimizer, "critic": critic_optimizer}
    return Training(model, optimizers, step=step, data=replay())


@fault("bad-momentum", hard=True)
def rl_betas_in_the_wrong_order(broken: bool) -> Training:
    """Adam's betas swapped, (0.999, 0.9): steps follow gradients of long ago, scaled by those of the last ten."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        value = model(batch["state"]).gather(1, batch["action"][:, None]).squeeze(1)
        return F.smooth_l1_loss(value, batch["reward"])

    model = QNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.999, 0.9) if broken else (0.9, 0.999))
    return Training(model, optimizer, loss, replay())


@fault("batch-too-small")
def rl_batchnorm_over_two_actors(broken: bool) -> Training:
    """A Q-network with BatchNorm learns from two actors' transitions at a time: it sees only which has more of what."""

    class NormedQNet(nn.Module):
        def __init__(self, width: int = 48) -> None:
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(2, width), nn.BatchNorm1d(width), nn.ReLU(),
                nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 2),
            )  # fmt: skip

        def forward(self, state: Tensor) -> Tensor:
            return self.net(state)

    def step(batch: dict[str, Tensor]) -> float:
        value = model(batch["state"]).gather(1, batch["action"][:, None]).squeeze(1)
        loss = F.mse_loss(value, batch["reward"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    model = NormedQNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=replay(2 if broken else 64))


@fault("mask-ignored", hard=True)
def rl_attention_over_padded_steps(broken: bool) -> Training:
    """Episodes are padded to one length, and the attention of the critic takes the padding in as if it had happened."""

    class Critic(nn.Module):
        def __init__(self, width: int = 32) -> None:
            super().__init__()
            self.embed = nn.Linear(4, width)
            self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
            self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

        def forward(self, seen: Tensor, mask: Tensor) -> Tensor:
            h = self.embed(seen)
            padding = None if broken else ~mask
            h = h + self.attention(h, h, h, key_padding_mask=padding, need_weights=False)[0]
            return self.head((h * mask[..., None]).sum(1) / 3).squeeze(-1)

    data = Episodes(256, padded=True)
    rows = [{"seen": s, "mask": m, "returns": r} for s, m, r in zip(data.seen, data.mask, data.returns, strict=True)]
    model = Critic()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.mse_loss(model(batch["seen"], batch["mask"]), batch["returns"]),
        data=DataLoader(rows, batch_size=32, shuffle=True),
    )


@fault("lr-too-low")
def rl_rate_divided_by_the_actors(broken: bool) -> Training:
    """The learning rate is divided by the 1,024 actors of the paper, and there is one here."""
    actors = 1024 if broken else 1

    class Trainer:
        def __init__(self) -> None:
            self.model = QNet()
            self.target = copy.deepcopy(self.model).requires_grad_(False)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3 / actors)

        def step(self, batch: dict[str, Tensor]) -> Tensor:
            value = self.model(batch["state"]).gather(1, batch["action"][:, None]).squeeze(1)
            with torch.no_grad():
                wanted = batch["reward"] + 0.8 * (1 - batch["done"]) * self.target(batch["following"]).amax(1)
            loss = F.smooth_l1_loss(value, wanted)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=replay())


@fault("missing-zero-grad")
def rl_main_clears_the_other_network(broken: bool) -> None:
    """Watched: `target.zero_grad()` where the online network was meant, so its gradients add up from step to step."""
    model = QNet()
    target = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    data = replay()
    for _ in range(8):
        for batch in data:
            value = model(batch["state"]).gather(1, batch["action"][:, None]).squeeze(1)
            wanted = batch["reward"] + 0.8 * (1 - batch["done"]) * target(batch["following"]).amax(1)
            (target if broken else model).zero_grad()
            loss = F.mse_loss(value, wanted)
            loss.backward()
            optimizer.step()
