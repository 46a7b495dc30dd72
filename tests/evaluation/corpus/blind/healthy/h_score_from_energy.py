"""Denoising score matching where the score is the gradient of a scalar."""
import torch
import torch.nn as nn

META = {
    "id": "h_score_from_energy",
    "description": 'The network is used only through its input gradient (create_graph), so its last bias never gets a gradient; the loss has a floor.',
    "roots": [],
}


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.Softplus(), nn.Linear(64, 64), nn.Softplus(), nn.Linear(64, 1))

    def score(self, x):
        x = x.requires_grad_(True)
        e = self.net(x).sum()
        return -torch.autograd.grad(e, x, create_graph=True)[0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centres = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]])
    data = [centres[torch.randint(0, 3, (64,))] + 0.1 * torch.randn(64, 2) for _ in range(8)]
    model = Potential()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    sigma = 0.4

    def loss(model, x):
        eps = torch.randn_like(x)
        score = model.score(x + sigma * eps)
        return (sigma * score + eps).pow(2).sum(1).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
