"""Fine-tuning a 'pretrained' CNN on new classes with a fresh head."""
import torch
import torch.nn as nn

META = {
    "id": "b5_finetune_new_head",
    "source": "CASES.md: meta-pytorch/opacus #432, pytorch #14467 (layers replaced after the optimizer was made)",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the classification head is replaced after the optimizer was created; the new head is in no parameter group",
    "location": "model.fc",
    "shows_in": "wiring",
}


class BackboneNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.fc = nn.Linear(24 * 9, n_classes)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        return self.fc(x.flatten(1))


def replace_head(model, n_classes):
    model.fc = nn.Linear(model.fc.in_features, n_classes)


def configure_optimizer(model):
    decay = [p for p in model.parameters() if p.ndim > 1]
    no_decay = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": 1e-4}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3)


def new_domain(n, n_classes, g):
    shared = torch.Generator().manual_seed(28)
    proto = torch.randn(n_classes, 3, 12, 12, generator=shared)
    y = torch.randint(0, n_classes, (n,), generator=g)
    return 0.7 * proto[y] + 0.7 * torch.randn(n, 3, 12, 12, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = new_domain(6 * 32, 9, g)
    data = list(zip(x.split(32), y.split(32)))

    model = BackboneNet(n_classes=100)
    if fixed:
        replace_head(model, 9)
        optimizer = configure_optimizer(model)
    else:
        optimizer = configure_optimizer(model)
        replace_head(model, 9)

    def loss(model, batch):
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
