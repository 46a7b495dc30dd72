"""REINFORCE with a baseline on recorded episodes: the logged reward says which action was right."""
import torch
from torch import nn

META = {
    "id": "b2_reinforce",
    "source": "own experience (policy gradient ascent written as descent)",
    "roots": ["wrong-loss-sign"],
    "description": "the minus of the policy-gradient loss is missing: rewarded actions become less likely",
    "location": "policy_loss",
    "shows_in": "one-batch",
}


class Policy(nn.Module):
    def __init__(self, n_obs=10, n_actions=4, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_obs, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, n_actions),
        )

    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))


def make_data(n_batches=8, batch_size=64):
    rule = torch.randn(10, 4)
    data = []
    for _ in range(n_batches):
        obs = torch.randn(batch_size, 10)
        best = (obs @ rule).argmax(-1)
        other = torch.randint(0, 4, (batch_size,))
        action = torch.where(torch.rand(batch_size) < 0.8, best, other)
        reward = (action == best).float()
        data.append({"obs": obs, "action": action, "reward": reward})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

    def step(batch):
        dist = policy(batch["obs"])
        log_prob = dist.log_prob(batch["action"])
        policy_loss = (log_prob * batch["reward"]).mean()
        if fixed:
            policy_loss = -policy_loss
        optimizer.zero_grad()
        policy_loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        return policy_loss.detach()

    return {"model": policy, "optimizer": optimizer, "data": data, "step": step}
