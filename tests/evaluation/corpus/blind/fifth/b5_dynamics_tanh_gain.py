"""Forward-dynamics model of a pendulum for model-based RL, tanh network."""
import torch
import torch.nn as nn

META = {
    "id": "b5_dynamics_tanh_gain",
    "source": "CASES.md: TheDeepChecker 39817949 (saturated units), 40147568 (weights too large at start)",
    "roots": ["saturated-activations", "bad-initialization"],
    "description": "hidden weights are drawn with xavier gain 40, so all tanh units sit at -1 or 1 and pass no gradient",
    "location": "DynamicsModel.reset_parameters (gain)",
    "shows_in": "one-batch",
}


class DynamicsModel(nn.Module):
    """Predicts the change of (angle, velocity) from state and torque."""

    def __init__(self, width=24, gain=1.0):
        super().__init__()
        self.l1 = nn.Linear(4, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, width)
        self.head = nn.Linear(width, 2)
        self.reset_parameters(gain)

    def reset_parameters(self, gain):
        for layer in (self.l1, self.l2, self.l3):
            nn.init.xavier_normal_(layer.weight, gain=gain)
            nn.init.zeros_(layer.bias)

    def forward(self, obs, torque):
        x = torch.cat([obs, torque], dim=1)
        for layer in (self.l1, self.l2, self.l3):
            x = torch.tanh(layer(x))
        return self.head(x)


def transitions(n, g):
    angle = torch.rand(n, generator=g) * 6.28 - 3.14
    vel = torch.randn(n, generator=g)
    torque = torch.rand(n, generator=g) * 2 - 1
    acc = 1.5 * torch.sin(angle) + torque
    delta = torch.stack([vel * 0.5, acc], 1)
    obs = torch.stack([torch.cos(angle), torch.sin(angle), vel], 1)
    return obs, torque.unsqueeze(1), delta


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    obs, torque, delta = transitions(8 * 64, g)
    data = list(zip(obs.split(64), torque.split(64), delta.split(64)))
    model = DynamicsModel(gain=1.0 if fixed else 40.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        o, a, d = batch
        return nn.functional.mse_loss(model(o, a), d)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
