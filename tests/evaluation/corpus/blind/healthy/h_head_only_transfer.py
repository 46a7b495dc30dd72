"""Transfer learning: only the head is given to the optimizer."""
import torch
import torch.nn as nn

META = {
    "id": "h_head_only_transfer",
    "description": 'The backbone keeps requires_grad=True but runs in eval mode under no_grad; the optimizer gets model.fc alone, as in many tutorials.',
    "roots": [],
}


class Transfer(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.fc = nn.Linear(32, 4)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.fc(h)


def make_images(n, classes, templates):
    y = torch.randint(0, classes, (n,))
    return templates[y] + 0.5 * torch.randn(n, 1, 12, 12), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    backbone = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 32), nn.ReLU())
    source = torch.randn(8, 1, 12, 12)
    head = nn.Linear(32, 8)
    pre = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(80):
        x, y = make_images(32, 8, source)
        pre.zero_grad()
        nn.functional.cross_entropy(head(backbone(x)), y).backward()
        pre.step()
    target = source[:4] * 0.8 + 0.3 * torch.randn(4, 1, 12, 12)
    data = [make_images(32, 4, target) for _ in range(6)]
    model = Transfer(backbone)
    model.train()
    model.zero_grad(set_to_none=True)
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1, momentum=0.9)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
