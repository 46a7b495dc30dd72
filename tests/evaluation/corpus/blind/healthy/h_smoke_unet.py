"""Smoke test of a segmentation net."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_unet",
    "description": 'Noise images with a random class per pixel: the net can only chip at the loss on one batch by memorising 8x8 pixels.',
    "roots": [],
}


class MiniUNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2))
        self.out = nn.Sequential(nn.Conv2d(96, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, classes, 1))

    def forward(self, x):
        a = self.down(x)
        return self.out(torch.cat([a, self.mid(a)], 1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [(torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4, 8, 8))) for _ in range(4)]
    model = MiniUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, mask = batch
        return nn.functional.cross_entropy(model(x), mask)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
