"""Centre heat-map prediction (CenterNet style) with a focal-loss prior on the bias."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_heatmap_prior",
    "source": "own experience (RetinaNet prior bias set in a loop over all convolutions); cf. CASES.md 49891163",
    "roots": ["dead-activations", "bad-initialization"],
    "description": "the negative prior bias meant for the output layer is given to every convolution, so all ReLUs are off",
    "location": "bias of stem and hidden convolutions",
    "shows_in": "one-batch",
}


class HeatmapNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU())
        self.hidden = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.heat = nn.Conv2d(16, 1, 1)

    def init_weights(self, everywhere, prior=0.01):
        value = -torch.log(torch.tensor((1 - prior) / prior)).item()
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
                nn.init.constant_(m.bias, value if everywhere or m is self.heat else 0.0)

    def forward(self, x):
        return self.heat(self.hidden(self.stem(x)))


def scenes(n, size=16):
    img = 0.1 * torch.randn(n, 1, size, size)
    heat = torch.zeros(n, 1, size, size)
    for i in range(n):
        for _ in range(2):
            y, x = (int(v) for v in torch.randint(1, size - 1, (2,)))
            img[i, 0, y - 1:y + 2, x - 1:x + 2] += 0.7
            heat[i, 0, y, x] = 1.0
    return img, heat


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, heat = scenes(128)
    data = [{"img": a, "heat": b} for a, b in zip(img.split(16), heat.split(16))]
    model = HeatmapNet()
    model.init_weights(everywhere=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        logits = model(batch["img"])
        weight = 1.0 + 20.0 * batch["heat"]
        return F.binary_cross_entropy_with_logits(logits, batch["heat"], weight=weight)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
