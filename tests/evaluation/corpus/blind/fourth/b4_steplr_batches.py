"""Traffic-sign style CNN with a step schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_steplr_batches",
    "source": "own experience; forum pattern 'scheduler.step() inside the batch loop'; cf. CASES.md Lightning #6675",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "StepLR(step_size=10) was meant in epochs but is stepped after every batch, so the rate is gone after 30 batches",
    "location": "scheduler.step() in SignTrainer.step",
    "shows_in": "one-batch",
}


class SignNet(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(24 * 16, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class SignTrainer:
    def __init__(self, model, batches_per_epoch, per_batch):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=10, gamma=0.1)
        self.n, self.per_batch, self.seen = batches_per_epoch, per_batch, 0

    def step(self, batch):
        self.model.train()
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(batch["image"]), batch["sign"])
        loss.backward()
        self.optimizer.step()
        self.seen += 1
        if self.per_batch or self.seen % self.n == 0:
            self.scheduler.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    sign = torch.randint(0, 8, (288,))
    template = torch.randn(8, 3, 16, 16)
    image = 0.35 * template[sign] + 0.6 * torch.randn(288, 3, 16, 16)
    data = [{"image": image[i:i + 24], "sign": sign[i:i + 24]} for i in range(0, 288, 24)]
    trainer = SignTrainer(SignNet(), len(data), per_batch=not fixed)
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": data, "step": trainer.step}
