"""Deep Q-learning on recorded transitions of a thermostat."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_dqn_replay",
    "source": "PyTorch forum classic: DQN with q.gather(...) of shape (N, 1) against targets (N,)",
    "roots": ["target-shape-mismatch"],
    "description": "the chosen Q-values keep shape (N, 1), the TD targets are (N,): the Huber loss broadcasts to (N, N)",
    "location": "step: q_net(state).gather(1, action)",
    "shows_in": "one-batch",
}


class QNet(nn.Module):
    def __init__(self, n_state, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(n_state, 64)
        self.fc2 = nn.Linear(64, 64)
        self.q = nn.Linear(64, n_actions)

    def forward(self, s):
        return self.q(F.relu(self.fc2(F.relu(self.fc1(s)))))


def record(n, n_actions=3):
    temp = torch.rand(n) * 2 - 1
    outside = torch.rand(n) * 2 - 1
    setpoint = torch.rand(n) - 0.5
    action = torch.randint(0, n_actions, (n, 1))
    heat = (action.squeeze(1) - 1).float()
    temp2 = temp + 0.4 * heat + 0.2 * (outside - temp)
    reward = 1.0 - 2 * (temp2 - setpoint).abs() - 0.2 * heat.abs()
    state = torch.stack([temp, outside, setpoint], 1)
    next_state = torch.stack([temp2, outside, setpoint], 1)
    done = (torch.rand(n) < 0.5).float()
    return state, action, reward, next_state, done


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size, gamma, tau = 64, 0.6, 0.02
    columns = record(8 * batch_size)
    replay = [tuple(c[i:i + batch_size] for c in columns) for i in range(0, 8 * batch_size, batch_size)]
    q_net = QNet(3, 3)
    target_net = copy.deepcopy(q_net).requires_grad_(False)
    optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)

    def step(batch):
        state, action, reward, next_state, done = batch
        q = q_net(state).gather(1, action)
        if fixed:
            q = q.squeeze(1)
        with torch.no_grad():
            next_q = target_net(next_state).max(dim=1).values
            target = reward + gamma * (1 - done) * next_q
        loss = F.smooth_l1_loss(q, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, t in zip(q_net.parameters(), target_net.parameters()):
                t.lerp_(p, tau)
        return loss

    return {"model": q_net, "optimizer": optimizer, "data": replay, "step": step}
