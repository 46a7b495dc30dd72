"""Traffic-light state classification from raw camera crops."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_uint8_scale",
    "source": "own experience: integer division when scaling uint8 images",
    "roots": ["ignores-input"],
    "description": "pixels are scaled with integer division (x // 255), so nearly every pixel becomes 0",
    "location": "LightNet.forward: x // 255",
    "shows_in": "one-batch",
}


class LightNet(nn.Module):
    def __init__(self, n_states=4, integer=False):
        super().__init__()
        self.integer = integer
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 3, 48)
        self.fc2 = nn.Linear(48, n_states)

    def forward(self, x):
        if self.integer:
            x = (x // 255).float()
        else:
            x = x.float() / 255
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def make_crops(n):
    state = torch.randint(0, 4, (n,))
    img = 60 + 25 * torch.randn(n, 3, 16, 12)
    rows = [2, 7, 12]
    colours = torch.tensor([[230.0, 40, 30], [235.0, 190, 40], [40.0, 220, 90]])
    for i in range(n):
        lit = {0: [0], 1: [0, 1], 2: [2], 3: [1]}[int(state[i])]
        dx = int(torch.randint(-1, 2, (1,)))
        for k in lit:
            r = rows[k]
            img[i, :, r:r + 3, 4 + dx:8 + dx] = colours[k].view(3, 1, 1) - 40 * torch.rand(3, 3, 4)
    return img.clamp(0, 254).to(torch.uint8), state


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    crops, state = make_crops(8 * 24)
    data = [{"crop": c, "state": s} for c, s in zip(crops.split(24), state.split(24))]
    model = LightNet(integer=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        return F.cross_entropy(model(batch["crop"]), batch["state"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
