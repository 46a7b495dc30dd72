"""Advantage actor-critic on recorded episodes of a small grid task."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_a2c_value",
    "source": "own experience (detached advantage reused for the value loss)",
    "roots": ["disconnected-graph"],
    "description": "the value loss is built from the detached advantage, so the value head gets no gradient",
    "location": "value_loss, model.value_head",
    "shows_in": "wiring",
}


class ActorCritic(nn.Module):
    def __init__(self, n_obs=12, n_actions=4, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.policy_head = nn.Linear(hidden, n_actions)
        self.value_head = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.policy_head(h), self.value_head(h).squeeze(-1)


def make_data(n_batches=8, batch_size=64):
    skill = torch.randn(12, 4)
    worth = torch.randn(12) / 12 ** 0.5
    data = []
    for _ in range(n_batches):
        obs = torch.randn(batch_size, 12)
        actions = torch.randint(0, 4, (batch_size,))
        best = (obs @ skill).argmax(-1)
        returns = 2.0 * (obs @ worth) + (actions == best).float()
        data.append({"obs": obs, "actions": actions, "returns": returns, "demo": best})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        logits, values = model(batch["obs"])
        dist = torch.distributions.Categorical(logits=logits)
        advantage = batch["returns"] - values
        if not fixed:
            advantage = advantage.detach()
        policy_loss = -(dist.log_prob(batch["actions"]) * advantage.detach()).mean()
        value_loss = advantage.pow(2).mean()
        imitation = F.cross_entropy(logits, batch["demo"])
        total = 0.1 * policy_loss + 0.5 * value_loss + imitation

        optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return total.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
