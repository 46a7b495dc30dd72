"""Linear probing on top of a pretrained, frozen convolutional backbone."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_backbone_bn",
    "source": "CASES.md mmpretrain-702 / 52282108 (frozen stages whose BatchNorm keeps moving)",
    "roots": ["frozen-parameters-change"],
    "description": "model.train() also switches the frozen backbone's BatchNorm to train mode, so its statistics drift",
    "location": "backbone BatchNorm running_mean / running_var",
    "shows_in": "wiring",
}


class Probe(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        return self.head(self.backbone(x).flatten(1))


def pretrained(model):
    with torch.no_grad():
        model.backbone.train()
        for _ in range(20):
            model.backbone(torch.randn(32, 3, 12, 12))
    return model


class ProbeTrainer:
    def __init__(self, model, keep_eval):
        self.model, self.keep_eval = model, keep_eval
        for p in model.backbone.parameters():
            p.requires_grad = False
        self.optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)

    def step(self, batch):
        x, y = batch
        self.model.train()
        if self.keep_eval:
            self.model.backbone.eval()
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    label = torch.randint(0, 4, (128,))
    pattern = torch.randn(4, 3, 12, 12)
    x = 1.2 * pattern[label] + 0.8 * torch.randn(128, 3, 12, 12) + 0.5
    data = list(zip(x.split(16), label.split(16)))
    trainer = ProbeTrainer(pretrained(Probe()), keep_eval=fixed)
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": data, "step": trainer.step}
