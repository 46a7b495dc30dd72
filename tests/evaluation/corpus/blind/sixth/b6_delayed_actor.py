"""Actor and critic on a continuous bandit with delayed policy updates."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_delayed_actor",
    "source": "TD3 re-implementations with actor_optimizer.step() outside of the policy_delay branch",
    "roots": ["empty-optimizer-steps"],
    "checks": [],
    "description": "The actor's optimizer steps in every iteration although its backward runs in every third one; in between it moves on momentum and weight decay with zero gradients.",
    "location": "Agent.update: self.actor_opt.step() outside of the if",
}


def mlp(n_in, n_out, tanh=False):
    layers = [nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, n_out)]
    return nn.Sequential(*layers, nn.Tanh()) if tanh else nn.Sequential(*layers)


class Agent(nn.Module):
    def __init__(self, delay=3, only_when_due=False):
        super().__init__()
        self.actor = mlp(4, 2, tanh=True)
        self.critic = mlp(6, 1)
        self.actor_opt = torch.optim.AdamW(self.actor.parameters(), lr=2e-3, weight_decay=0.05)
        self.critic_opt = torch.optim.AdamW(self.critic.parameters(), lr=4e-3, weight_decay=0.0)
        self.delay = delay
        self.only_when_due = only_when_due
        self.it = 0

    def q(self, s, a):
        return self.critic(torch.cat([s, a], dim=1)).squeeze(1)

    def update(self, batch):
        s, a, r = batch["state"], batch["action"], batch["reward"]
        self.it += 1
        critic_loss = F.mse_loss(self.q(s, a), r)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        due = self.it % self.delay == 0
        self.actor_opt.zero_grad(set_to_none=False)
        if due:
            for p in self.critic.parameters():
                p.requires_grad_(False)
            actor_loss = -self.q(s, self.actor(s)).mean()
            actor_loss.backward()
            for p in self.critic.parameters():
                p.requires_grad_(True)
        if due or not self.only_when_due:
            self.actor_opt.step()
        return critic_loss.detach()


def transitions(n, w, gen):
    s = torch.randn(n, 4, generator=gen)
    a = 2 * torch.rand(n, 2, generator=gen) - 1
    best = torch.tanh(s @ w)
    r = 1.0 - 2 * (a - best).pow(2).sum(1)
    return {"state": s, "action": a, "reward": r}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    w = 0.6 * torch.randn(4, 2, generator=gen)
    data = [transitions(48, w, gen) for _ in range(8)]
    agent = Agent(only_when_due=fixed)
    return {"model": agent, "optimizer": [agent.critic_opt, agent.actor_opt], "data": data, "step": agent.update}
