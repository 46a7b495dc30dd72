"""Actor-critic on recorded rollouts: value regression plus advantage-weighted policy loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_actor_critic",
    "source": "CASES.md E stackoverflow 49206550 / distiller 0ae0754 (missing squeeze)",
    "roots": ["target-shape-mismatch"],
    "description": "values (N, 1) against returns (N,): broadcast to N x N, the critic learns the mean return",
    "location": "step: (values - returns) without squeeze",
    "shows_in": "one-batch",
}


class ActorCritic(nn.Module):
    def __init__(self, n_obs=8, n_actions=4, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.v(h)


def rollouts(g, n_batches=8, batch=48):
    w = torch.randn(8, generator=g)
    good = torch.randn(8, 4, generator=g)
    data = []
    for _ in range(n_batches):
        obs = torch.randn(batch, 8, generator=g)
        action = torch.randint(0, 4, (batch,), generator=g)
        best = (obs @ good).argmax(1)
        returns = 2.0 * torch.tanh(obs @ w) + (action == best).float()
        data.append((obs, action, returns))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 4)
    data = rollouts(g)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(batch):
        obs, action, returns = batch
        logits, values = model(obs)
        if fixed:
            values = values.squeeze(-1)
        advantage = returns - values
        value_loss = advantage.pow(2).mean()
        logp = F.log_softmax(logits, dim=-1).gather(1, action[:, None]).squeeze(1)
        policy_loss = -(logp * advantage.detach()).mean()
        loss = value_loss + 0.02 * policy_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
