"""CNN with BatchNorm and dropout; a short validation pass runs every few steps."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_val_mode",
    "source": "own experience; CASES.md 52282108 (BatchNorm mode)",
    "roots": ["wrong-mode"],
    "description": "validate() switches the model to eval and nobody switches it back, so training goes on in eval mode",
    "location": "Experiment.validate",
    "shows_in": "wiring",
}


class SmallCNN(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(24 * 9, classes))

    def forward(self, x):
        return self.classifier(self.features(x))


class Experiment:
    def __init__(self, model, val_batch, every=5, restore=False):
        self.model, self.val_batch, self.every, self.restore = model, val_batch, every, restore
        self.opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
        self.iteration = 0
        self.val_acc = []
        self.model.train()

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            x, y = self.val_batch
            self.val_acc.append((self.model(x).argmax(1) == y).float().mean().item())
        if self.restore:
            self.model.train()

    def step(self, batch):
        if self.iteration % self.every == 0:
            self.validate()
        self.iteration += 1
        x, y = batch
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    label = torch.randint(0, 5, (288,))
    shape = torch.randn(5, 1, 12, 12)
    x = 3.0 * shape[label] + 2.0 * torch.randn(288, 1, 12, 12) + 4.0
    batches = list(zip(x.split(32), label.split(32)))
    exp = Experiment(SmallCNN(), val_batch=batches[-1], restore=fixed)
    return {"model": exp.model, "optimizer": exp.opt, "data": batches[:-1], "step": exp.step}
