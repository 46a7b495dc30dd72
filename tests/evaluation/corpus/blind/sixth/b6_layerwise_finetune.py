"""Discriminative fine-tuning: a stack of residual blocks with layer-wise learning rates."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_layerwise_finetune",
    "source": "layer-wise rates computed with integer division (ULMFiT-style scripts ported from other languages)",
    "roots": ["updates-lost", "frozen-parameters"],
    "checks": [],
    "description": "The factor (i + 1) // n is 0 for all blocks but the last, so their groups have learning rate 0.",
    "location": "layerwise_groups: base_lr * ((i + 1) // n)",
}


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self, n_in=14, dim=32, depth=4, classes=6):
        super().__init__()
        self.embed = nn.Linear(n_in, dim)
        self.blocks = nn.ModuleList(ResBlock(dim) for _ in range(depth))
        self.classifier = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.embed(x)
        for block in self.blocks:
            h = block(h)
        return self.classifier(h)


def layerwise_groups(model, base_lr, exact):
    stages = [model.embed, *model.blocks]
    n = len(stages)
    groups = []
    for i, stage in enumerate(stages):
        factor = (i + 1) / n if exact else (i + 1) // n
        groups.append({"params": list(stage.parameters()), "lr": base_lr * factor})
    groups.append({"params": list(model.classifier.parameters()), "lr": base_lr})
    return groups


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w1, w2 = torch.randn(14, 16), torch.randn(16, 6)
    data = []
    for _ in range(8):
        x = torch.randn(40, 14)
        data.append({"x": x, "y": (torch.sin(x @ w1 / 3) @ w2).argmax(1)})
    model = Encoder()
    optimizer = torch.optim.AdamW(layerwise_groups(model, 4e-3, exact=fixed), weight_decay=0.0)

    def step(batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch["x"]), batch["y"])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
