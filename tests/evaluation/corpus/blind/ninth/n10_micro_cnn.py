import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_micro_cnn",
        "source": "gradient accumulation added to a vision loop to save memory (forum threads)",
        "roots": ["accumulation-not-scaled", "lr-too-high"], "checks": [],
        "description": "Each of the eight chunk losses is a mean over its chunk and is not divided by the number of chunks, so each step is eight times too large.",
        "location": "make_step.train_on: (loss).backward() in the chunk loop"}


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(), nn.MaxPool2d(2))


class SmallNet(nn.Module):
    def __init__(self, n_cls=4):
        super().__init__()
        self.features = nn.Sequential(conv_block(1, 16), conv_block(16, 16))
        self.classifier = nn.Linear(16 * 9, n_cls)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def make_step(model, opt, chunks, fixed):
    def train_on(batch):
        opt.zero_grad(set_to_none=True)
        total = 0.0
        for img, lab in zip(batch["image"].chunk(chunks), batch["label"].chunk(chunks)):
            loss = F.cross_entropy(model(img), lab)
            if fixed:
                loss = loss / chunks
            loss.backward()
            total += loss.item()
        opt.step()
        return total if fixed else total / chunks
    return train_on


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 21)
    protos = torch.randn(4, 1, 12, 12, generator=g)
    data = []
    for _ in range(14):
        y = torch.randint(0, 4, (32,), generator=g)
        data.append({"image": 0.5 * protos[y] + torch.randn(32, 1, 12, 12, generator=g), "label": y})
    model = SmallNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return {"model": model, "optimizer": opt, "data": data, "step": make_step(model, opt, 8, fixed)}
