"""Hand-written two-layer network on small grey images."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_pixels_sigmoid",
    "source": "CASES.md C 39817949 (saturated sigmoid)",
    "roots": ["saturated-activations", "bad-initialization"],
    "description": "weights drawn with torch.rand (all positive) on 144 positive pixels: every hidden sigmoid sits at 1",
    "location": "TwoLayer.w1, TwoLayer.w2 = torch.rand(...)",
    "shows_in": "one-batch",
}


class TwoLayer(nn.Module):
    def __init__(self, n_in, n_hidden, n_out, scaled):
        super().__init__()
        if scaled:
            self.w1 = nn.Parameter(torch.randn(n_in, n_hidden) / n_in ** 0.5)
            self.w2 = nn.Parameter(torch.randn(n_hidden, n_hidden) / n_hidden ** 0.5)
        else:
            self.w1 = nn.Parameter(torch.rand(n_in, n_hidden))
            self.w2 = nn.Parameter(torch.rand(n_hidden, n_hidden))
        self.b1 = nn.Parameter(torch.zeros(n_hidden))
        self.b2 = nn.Parameter(torch.zeros(n_hidden))
        self.out = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        h = torch.sigmoid(x @ self.w1 + self.b1)
        h = torch.sigmoid(h @ self.w2 + self.b2)
        return self.out(h)


def make_images(n, n_classes=8, size=12):
    proto = torch.rand(n_classes, size * size)
    label = torch.randint(0, n_classes, (n,))
    gain = 0.8 + 0.2 * torch.rand(n, 1)
    img = (proto[label] * gain + 0.15 * torch.randn(n, size * size)).clamp(0, 1)
    return img, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size = 32
    images, labels = make_images(10 * batch_size)
    data = [(images[i:i + batch_size], labels[i:i + batch_size]) for i in range(0, len(images), batch_size)]
    model = TwoLayer(images.shape[1], 64, 8, scaled=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        images, labels = batch
        return F.cross_entropy(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
