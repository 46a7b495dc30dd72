"""Road segmentation: masks come as 8-bit images."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_mask_255",
    "source": "own experience; forum pattern 'BCE loss is negative', mask loaded as 0/255; cf. CASES.md 57200621",
    "roots": ["invalid-labels"],
    "description": "the masks hold 0 and 255, binary cross-entropy wants 0 and 1; the loss falls below zero without end",
    "location": "load_mask()",
    "shows_in": "one-batch",
}


class RoadNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.dilated = nn.Sequential(nn.Conv2d(c, c, 3, padding=2, dilation=2), nn.ReLU())
        self.score = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        return self.score(self.dilated(self.enc(x)))


def roads(n, size=16):
    mask = torch.zeros(n, size, size, dtype=torch.uint8)
    for i in range(n):
        row, slope = int(torch.randint(2, 11, (1,))), float(torch.rand(1)) - 0.5
        for col in range(size):
            top = int(min(max(row + slope * col, 0), size - 4))
            mask[i, top:top + 4, col] = 255
    grey = torch.tensor([0.3, 0.35, 0.4]).view(1, 3, 1, 1)
    on = (mask > 0).float()[:, None]
    image = on * grey + (1 - on) * (0.8 * torch.rand(n, 3, 1, 1)) + 0.05 * torch.randn(n, 3, size, size)
    return (image - 0.4) / 0.2, mask


def load_mask(raw, fixed):
    m = raw.float().unsqueeze(1)
    return m / 255.0 if fixed else m


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    image, raw = roads(96)
    mask = load_mask(raw, fixed)
    data = [{"image": a, "mask": b} for a, b in zip(image.split(12), mask.split(12))]
    model = RoadNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        return F.binary_cross_entropy_with_logits(model(batch["image"]), batch["mask"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
