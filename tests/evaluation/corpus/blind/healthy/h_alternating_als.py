"""Matrix completion by alternating phases."""
import torch
import torch.nn as nn

META = {
    "id": "h_alternating_als",
    "description": 'User factors move in even steps, item factors in odd ones, each with its own optimizer; the other side is frozen for that step; ratings observed only through a mask.',
    "roots": [],
}


class Factors(nn.Module):
    def __init__(self, users=30, items=40, k=6):
        super().__init__()
        self.U = nn.Parameter(0.3 * torch.randn(users, k))
        self.V = nn.Parameter(0.3 * torch.randn(items, k))

    def forward(self):
        return self.U @ self.V.t()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    R = torch.randn(30, 4) @ torch.randn(4, 40)
    data = [(R, (torch.rand(30, 40) < 0.5).float()) for _ in range(4)]
    model = Factors()
    opt_u, opt_v = torch.optim.Adam([model.U], lr=3e-2), torch.optim.Adam([model.V], lr=3e-2)
    state = {"n": 0}

    def step(batch):
        R, seen = batch
        even = state["n"] % 2 == 0
        state["n"] += 1
        model.U.requires_grad_(even)
        model.V.requires_grad_(not even)
        opt = opt_u if even else opt_v
        loss = ((model() - R).pow(2) * seen).sum() / seen.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return {"model": model, "optimizer": [opt_u, opt_v], "data": data, "step": step}
