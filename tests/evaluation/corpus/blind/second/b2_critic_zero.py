"""Soft actor and critic with an optimizer each, on recorded bandit data."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_critic_zero",
    "source": "own experience (actor loss runs through the critic; its gradients stay in the critic)",
    "roots": ["missing-zero-grad"],
    "description": "critic_opt.zero_grad() is missing, so the critic's gradients pile up over steps (and mix with those of the actor's loss)",
    "location": "critic_opt.zero_grad() before critic_loss.backward()",
    "shows_in": "one-batch",
}


def mlp(n_in, n_out, hidden=160):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_out))


class Agent(nn.Module):
    def __init__(self, n_state=8, n_action=3):
        super().__init__()
        self.actor = mlp(n_state, n_action)
        self.critic = mlp(n_state + n_action, 1)

    def act(self, state):
        return torch.tanh(self.actor(state))

    def q(self, state, action):
        return self.critic(torch.cat([state, action], -1)).squeeze(-1)


def make_data(n_batches=8, batch_size=64):
    goal = torch.randn(8, 3) / 3
    data = []
    for _ in range(n_batches):
        state = torch.randn(batch_size, 8)
        action = torch.rand(batch_size, 3) * 2 - 1
        reward = 2 - (action - torch.tanh(state @ goal)).pow(2).sum(-1)
        data.append({"state": state, "action": action, "reward": reward})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    agent = Agent()
    actor_opt = torch.optim.Adam(agent.actor.parameters(), lr=1e-3)
    critic_opt = torch.optim.Adam(agent.critic.parameters(), lr=2e-3)

    def step(batch):
        state, action, reward = batch["state"], batch["action"], batch["reward"]
        if fixed:
            critic_opt.zero_grad()
        critic_loss = F.mse_loss(agent.q(state, action), reward)
        critic_loss.backward()
        critic_opt.step()

        actor_opt.zero_grad()
        actor_loss = -agent.q(state, agent.act(state)).mean()
        actor_loss.backward()
        actor_opt.step()
        return critic_loss.detach()

    return {"model": agent, "optimizer": [actor_opt, critic_opt], "data": data, "step": step}
