"""Image classifier whose trainer reports a running clean accuracy after every update."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_running_accuracy",
    "source": "trainers that call model.eval() for a metric inside the loop and model.train() only once before it (forum)",
    "roots": ["wrong-mode"],
    "checks": [],
    "description": "The metric helper puts the model into eval mode and nothing puts it back, so from the second step on training runs with frozen BatchNorm statistics and no dropout.",
    "location": "Trainer.clean_accuracy: self.model.eval()",
}


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(2, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(16 * 16, 3))

    def forward(self, x):
        return self.classifier(self.conv(x))


class Trainer:
    def __init__(self, model, back_to_train):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.history = []
        self.back_to_train = back_to_train

    @torch.no_grad()
    def clean_accuracy(self, x, y):
        self.model.eval()
        acc = (self.model(x).argmax(1) == y).float().mean().item()
        if self.back_to_train:
            self.model.train()
        return acc

    def training_step(self, batch):
        x, y = batch
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.history.append((loss.item(), self.clean_accuracy(x, y)))
        return loss


def images(n, gen):
    y = torch.randint(0, 3, (n,), generator=gen)
    x = 0.5 * torch.randn(n, 2, 8, 8, generator=gen) + 1.0
    x[y == 0, 0, :, ::2] += 1.5
    x[y == 1, 1, ::2, :] += 1.5
    x[y == 2, :, 2:6, 2:6] += 1.0
    return 3.0 * x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 9)
    data = [images(32, gen) for _ in range(8)]
    val = [images(32, gen) for _ in range(2)]
    trainer = Trainer(SmallCNN(), back_to_train=fixed)
    trainer.model.train()
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": data, "val": val, "step": trainer.training_step}
