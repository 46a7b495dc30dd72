"""CIFAR-like training script with a validation pass before and during training."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_eval_left_on",
    "source": "own experience",
    "roots": ["wrong-mode"],
    "description": "validate() switches to eval mode and does not switch back, so dropout and BatchNorm are in eval mode during training",
    "location": "validate: model.eval() without model.train()",
    "shows_in": "wiring",
}

EVAL_EVERY = 50


class SmallResNet(nn.Module):
    def __init__(self, n_classes=10, ch=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU(),
                                  nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch))
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(ch * 9, n_classes)

    def forward(self, x):
        x = self.stem(x)
        x = F.relu(x + self.body(x))
        x = F.adaptive_avg_pool2d(x, 3).flatten(1)
        return self.fc(self.drop(x))


def images(n, g):
    shared = torch.Generator().manual_seed(4)
    proto = F.interpolate(torch.randn(10, 3, 3, 3, generator=shared), size=12)
    y = torch.randint(0, 10, (n,), generator=g)
    return proto[y] + 0.5 * torch.randn(n, 3, 12, 12, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = images(7 * 24, g)
    batches = list(zip(x.split(24), y.split(24)))
    train, (val_x, val_y) = batches[:6], batches[6]
    model = SmallResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    history = []

    @torch.no_grad()
    def validate():
        model.eval()
        acc = (model(val_x).argmax(1) == val_y).float().mean().item()
        if fixed:
            model.train()
        return acc

    counter = {"it": 0}

    def step(batch):
        if counter["it"] % EVAL_EVERY == 0:
            history.append(validate())
        counter["it"] += 1
        img, label = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(img), label)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": train, "step": step}
