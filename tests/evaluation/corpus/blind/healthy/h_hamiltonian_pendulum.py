"""Hamiltonian network for a pendulum."""
import torch
import torch.nn as nn

META = {
    "id": "h_hamiltonian_pendulum",
    "description": 'Only the gradient of the scalar output is used, so the last bias can get no gradient; Tanh net, second-order backward.',
    "roots": [],
}


class HNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, state):
        state = state.detach().requires_grad_(True)
        dh = torch.autograd.grad(self.h(state).sum(), state, create_graph=True)[0]
        return torch.stack([dh[:, 1], -dh[:, 0]], 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        q, p = (torch.rand(48) * 4 - 2), (torch.rand(48) * 4 - 2)
        data.append((torch.stack([q, p], 1), torch.stack([p, -2 * torch.sin(q)], 1)))
    model = HNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        state, deriv = batch
        return (model(state) - deriv).pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
