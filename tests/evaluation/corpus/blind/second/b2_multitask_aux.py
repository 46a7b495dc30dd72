"""Multi-task net for road scenes: a class for the scene, a distance and a speed."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_multitask_aux",
    "source": "own experience (a task's loss computed and left out of the total)",
    "roots": ["unused-parameters", "disconnected-graph"],
    "description": "the speed loss is computed but not added to the total, so the speed head never gets a gradient",
    "location": "speed_head",
    "shows_in": "wiring",
}


class SceneNet(nn.Module):
    def __init__(self, n_in=24, n_scenes=5, hidden=160):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_in, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.scene_head = nn.Linear(hidden, n_scenes)
        self.dist_head = nn.Linear(hidden, 1)
        self.speed_head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        h = self.trunk(x)
        return {
            "scene": self.scene_head(h),
            "dist": self.dist_head(h).squeeze(-1),
            "speed": self.speed_head(h).squeeze(-1),
        }


def make_data(n_batches=8, batch_size=48):
    w_scene, w_dist, w_speed = torch.randn(24, 5), torch.randn(24) / 5, torch.randn(24) / 5
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch_size, 24)
        data.append({
            "x": x,
            "scene": (x @ w_scene).argmax(-1),
            "dist": torch.sin(x @ w_dist),
            "speed": (x @ w_speed).abs(),
        })
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = SceneNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        out = model(batch["x"])
        losses = {
            "scene": F.cross_entropy(out["scene"], batch["scene"]),
            "dist": F.mse_loss(out["dist"], batch["dist"]),
            "speed": F.smooth_l1_loss(out["speed"], batch["speed"]),
        }
        total = losses["scene"] + 0.5 * losses["dist"]
        if fixed:
            total = total + 0.5 * losses["speed"]
        return total

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
