"""DQN update on a recorded replay buffer (grid world) with a target network."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_dqn_gather",
    "source": "own experience; related: pytorch-A3C #5, DeepReinforcementLearningInAction #15 (silent broadcasting in RL losses)",
    "roots": ["target-shape-mismatch"],
    "description": "Q(s, a) of shape (N, 1) is compared with TD targets of shape (N,): every Q is pulled to every target",
    "location": "step: q_values.gather(1, actions)",
    "shows_in": "one-batch",
}

N_ACTIONS, GAMMA, TAU = 4, 0.9, 0.02


class QNet(nn.Module):
    def __init__(self, n_state):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_state, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, N_ACTIONS))

    def forward(self, s):
        return self.net(s)


def replay(n, g):
    pos = torch.rand(n, 2, generator=g) * 2 - 1
    action = torch.randint(0, N_ACTIONS, (n,), generator=g)
    moves = torch.tensor([[0.2, 0.0], [-0.2, 0.0], [0.0, 0.2], [0.0, -0.2]])
    nxt = (pos + moves[action]).clamp(-1, 1)
    goal = torch.tensor([0.7, -0.4])
    reward = 2 * ((pos - goal).norm(dim=1) - (nxt - goal).norm(dim=1)) / 0.2
    done = ((nxt - goal).norm(dim=1) < 0.3).float()

    def feat(p):
        return torch.cat([p, torch.sin(3 * p), torch.cos(3 * p)], 1)
    return feat(pos), action, reward, feat(nxt), done


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    fields = replay(8 * 64, g)
    data = list(zip(*[f.split(64) for f in fields]))
    policy_net = QNet(6)
    target_net = copy.deepcopy(policy_net).requires_grad_(False)
    optimizer = torch.optim.Adam(policy_net.parameters(), lr=2e-3)

    def step(batch):
        state, action, reward, next_state, done = batch
        q = policy_net(state).gather(1, action.unsqueeze(1))
        if fixed:
            q = q.squeeze(1)
        with torch.no_grad():
            next_q = target_net(next_state).max(1).values
            target = reward + GAMMA * (1 - done) * next_q
        loss = F.mse_loss(q, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for tp, p in zip(target_net.parameters(), policy_net.parameters()):
                tp.lerp_(p, TAU)
        return loss

    return {"model": policy_net, "optimizer": optimizer, "data": data, "step": step}
