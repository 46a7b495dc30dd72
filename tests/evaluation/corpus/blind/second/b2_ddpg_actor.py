"""DDPG-style actor and critic on recorded one-step control tasks."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_ddpg_actor",
    "source": "nikhilsinghmus/image2reverb #37 (detach in the generator's own step), ported to actor-critic",
    "roots": ["disconnected-graph"],
    "description": "the actor's action is detached before it goes into the critic in the actor's own loss, so the actor gets no gradient",
    "location": "actor_loss = -critic(state, action.detach())",
    "shows_in": "wiring",
}


class Actor(nn.Module):
    def __init__(self, n_state, n_action):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_state, 64), nn.ReLU(), nn.Linear(64, n_action), nn.Tanh())

    def forward(self, state):
        return self.net(state)


class Critic(nn.Module):
    def __init__(self, n_state, n_action):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_state + n_action, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], -1)).squeeze(-1)


def make_data(n_batches=8, batch_size=64, n_state=6, n_action=2):
    goal = torch.randn(n_state, n_action) / n_state ** 0.5
    data = []
    for _ in range(n_batches):
        state = torch.randn(batch_size, n_state)
        action = torch.rand(batch_size, n_action) * 2 - 1
        reward = 1.0 - (action - torch.tanh(state @ goal)).pow(2).sum(-1)
        data.append({"state": state, "action": action, "reward": reward})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = nn.ModuleDict({"actor": Actor(6, 2), "critic": Critic(6, 2)})
    actor, critic = model["actor"], model["critic"]
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)

    def step(batch):
        q = critic(batch["state"], batch["action"])
        critic_loss = F.mse_loss(q, batch["reward"])
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        action = actor(batch["state"])
        if not fixed:
            action = action.detach()
        actor_loss = -critic(batch["state"], action).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        return critic_loss.detach()

    return {"model": model, "optimizer": [actor_opt, critic_opt], "data": data, "step": step}
