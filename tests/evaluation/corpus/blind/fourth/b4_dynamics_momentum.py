"""Learned dynamics model: predict the change of a cart's state from state and action."""
import torch
import torch.nn as nn

META = {
    "id": "b4_dynamics_momentum",
    "source": "own experience (0.999 typed for 0.9); cf. CASES.md unstable (repair: momentum)",
    "roots": ["bad-momentum"],
    "description": "SGD momentum is 0.999: the velocity averages over a thousand steps and the loss swings",
    "location": "optimizer momentum",
    "shows_in": "one-batch",
}


class Dynamics(nn.Module):
    def __init__(self, n_state=4, n_action=2, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_state + n_action, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, n_state),
        )

    def forward(self, state, action):
        return self.net(torch.cat([state, action], -1))


def rollouts(n):
    state = torch.randn(n, 4)
    action = torch.randn(n, 2)
    x, v, angle, spin = state.unbind(1)
    delta = torch.stack([
        v,
        action[:, 0] - 0.5 * v,
        spin,
        torch.sin(angle) + 0.8 * action[:, 1],
    ], 1)
    return state, action, delta


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    columns = rollouts(512)
    data = [tuple(c[i:i + 64] for c in columns) for i in range(0, 512, 64)]
    model = Dynamics()
    momentum = 0.9 if fixed else 0.999
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)

    def loss(model, batch):
        state, action, delta = batch
        return nn.functional.mse_loss(model(state, action), delta)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
