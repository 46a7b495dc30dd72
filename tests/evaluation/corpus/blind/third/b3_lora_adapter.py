"""Low-rank adaptation of a frozen classifier to shifted data."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_lora_adapter",
    "source": "own experience (adapter with both factors at zero); CASES.md G M1",
    "roots": ["bad-initialization"],
    "description": "both low-rank factors start at zero, so neither gets a gradient: the adapters stay at zero",
    "location": "LoRALinear.lora_a / lora_b",
    "shows_in": "one-batch",
}


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8, alpha=16, fixed=False):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.zeros(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        if fixed:
            nn.init.kaiming_uniform_(self.lora_a, a=5 ** 0.5)
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_a.t()) @ self.lora_b.t()


class Classifier(nn.Module):
    def __init__(self, n_in=24, n_classes=6, width=96):
        super().__init__()
        self.fc1 = nn.Linear(n_in, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def make_data(g, centers, n_batches=8, batch=48):
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch,), generator=g)
        data.append((centers[y] + 0.5 * torch.randn(batch, 24, generator=g), y))
    return data


def pretrain(model, data):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(5):
        for x, y in data:
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 17)
    centers = torch.randn(6, 24, generator=g)
    model = Classifier()
    pretrain(model, make_data(g, centers))
    shifted = torch.randn(6, 24, generator=g)
    data = make_data(g, shifted)
    for name in ("fc1", "fc2", "fc3"):
        setattr(model, name, LoRALinear(getattr(model, name), fixed=fixed))
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=3e-3, weight_decay=0.0)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
