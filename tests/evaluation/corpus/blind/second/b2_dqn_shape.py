"""Deep Q-learning on a recorded replay buffer, terminal-heavy, with a target network."""
import copy
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_dqn_shape",
    "source": "own experience (gather keeps the last dimension, rewards are flat)",
    "roots": ["target-shape-mismatch"],
    "description": "Q values gathered as (N, 1) are compared with targets (N,), broadcast to (N, N)",
    "location": "F.smooth_l1_loss(q, target)",
    "shows_in": "one-batch",
}
GAMMA, SYNC = 0.5, 25


class QNet(nn.Module):
    def __init__(self, n_obs=8, n_actions=4, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_actions)

    def forward(self, obs):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(obs)))))


def make_data(n_batches=8, batch_size=48):
    w = torch.randn(8, 4) / 2
    data = []
    for _ in range(n_batches):
        obs = torch.randn(batch_size, 8)
        action = torch.randint(0, 4, (batch_size,))
        reward = 2 * torch.tanh((obs @ w).gather(1, action[:, None]).squeeze(1))
        next_obs = 0.5 * obs + 0.5 * torch.randn(batch_size, 8)
        done = (torch.rand(batch_size) < 0.6).float()
        data.append({"obs": obs, "action": action, "reward": reward, "next_obs": next_obs, "done": done})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = QNet()
    target_net = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    counter = {"steps": 0}

    def step(batch):
        q = model(batch["obs"]).gather(1, batch["action"].unsqueeze(1))
        if fixed:
            q = q.squeeze(1)
        with torch.no_grad():
            next_q = target_net(batch["next_obs"]).max(1).values
            target = batch["reward"] + GAMMA * (1 - batch["done"]) * next_q
        loss = F.smooth_l1_loss(q, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        counter["steps"] += 1
        if counter["steps"] % SYNC == 0:
            target_net.load_state_dict(model.state_dict())
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
