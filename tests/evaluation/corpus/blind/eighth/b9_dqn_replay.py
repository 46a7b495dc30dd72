import copy
import random
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_dqn_replay", "source": "DQN tutorials: gather() keeps a dimension that the TD target has not",
        "roots": ["target-shape-mismatch"], "checks": [],
        "description": "Q(s, a) has shape (N, 1) and the TD target shape (N,): the loss compares every sample with every target",
        "location": "DQNAgent.learn"}

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class QNetwork(nn.Module):
    def __init__(self, state_size, action_size, fc1_units=64, fc2_units=64):
        super().__init__()
        self.fc1 = nn.Linear(state_size, fc1_units)
        self.fc2 = nn.Linear(fc1_units, fc2_units)
        self.fc3 = nn.Linear(fc2_units, action_size)

    def forward(self, state):
        x = F.relu(self.fc1(state))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class DQNAgent:
    GAMMA, TAU, LR = 0.8, 0.02, 2e-3

    def __init__(self, state_size, action_size, fixed):
        self.qnetwork_local = QNetwork(state_size, action_size)
        self.qnetwork_target = copy.deepcopy(self.qnetwork_local).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.qnetwork_local.parameters(), lr=self.LR)
        self.fixed = fixed

    def learn(self, experiences):
        states, actions, rewards, next_states, dones = experiences
        q_next = self.qnetwork_target(next_states).max(1)[0].detach()
        q_targets = rewards + self.GAMMA * q_next * (1 - dones)
        q_expected = self.qnetwork_local(states).gather(1, actions.unsqueeze(1))
        if self.fixed:
            q_expected = q_expected.squeeze(1)
        loss = F.mse_loss(q_expected, q_targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.soft_update()
        return loss.item()

    @torch.no_grad()
    def soft_update(self):
        for t, l in zip(self.qnetwork_target.parameters(), self.qnetwork_local.parameters()):
            t.lerp_(l, self.TAU)


def collect(n, seed):
    """Random-walk agent on a line with a goal that moves; reward is closeness."""
    rng = np.random.RandomState(seed + 3)
    memory = []
    pos, goal = rng.uniform(-2, 2), rng.uniform(-2, 2)
    for _ in range(n):
        a = rng.randint(3)
        new = np.clip(pos + (a - 1) * 0.5 + 0.05 * rng.randn(), -3, 3)
        r = 1.5 - abs(new - goal)
        done = abs(new - goal) < 0.2
        memory.append(Transition([pos, goal, pos - goal, 1.0], a, r, [new, goal, new - goal, 1.0], float(done)))
        pos = new
        if done or rng.rand() < 0.05:
            pos, goal = rng.uniform(-2, 2), rng.uniform(-2, 2)
    return memory


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed)
    memory = collect(2000, seed)
    data = []
    for _ in range(30):
        b = Transition(*zip(*rnd.sample(memory, 64)))
        data.append((torch.tensor(np.array(b.state), dtype=torch.float32), torch.tensor(b.action),
                     torch.tensor(b.reward, dtype=torch.float32), torch.tensor(np.array(b.next_state), dtype=torch.float32),
                     torch.tensor(b.done)))
    agent = DQNAgent(4, 3, fixed)
    return {"model": agent.qnetwork_local, "optimizer": agent.optimizer, "data": data, "step": agent.learn}
