"""Point cloud completion: a PointNet style encoder predicts the mirrored cloud."""
import torch
import torch.nn as nn

META = {
    "id": "b3_point_cloud_sum",
    "source": "CASES.md E stackoverflow 48527808, pyro issue 731 (loss scaling)",
    "roots": ["loss-reduction"],
    "description": "squared error summed over batch, points and coordinates with a learning rate tuned for the mean",
    "location": "criterion: nn.MSELoss(reduction='sum')",
    "shows_in": "one-batch",
}


class Completion(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.decode = nn.Sequential(nn.Linear(width + 3, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, cloud):
        code = self.point(cloud).amax(dim=1, keepdim=True)
        code = code.expand(-1, cloud.shape[1], -1)
        return self.decode(torch.cat([cloud, code], dim=-1))


def clouds(g, n_batches=6, batch=24, n_points=20):
    mirror = torch.tensor([-1.0, 1.0, 1.0])
    data = []
    for _ in range(n_batches):
        scale = 0.5 + torch.rand(batch, 1, 3, generator=g)
        p = torch.randn(batch, n_points, 3, generator=g)
        p = p / p.norm(dim=-1, keepdim=True) * scale
        data.append((p, p * mirror))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 27)
    data = clouds(g)
    model = Completion()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.MSELoss(reduction="mean" if fixed else "sum")

    def step(batch):
        cloud, target = batch
        optimizer.zero_grad()
        loss = criterion(model(cloud), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
