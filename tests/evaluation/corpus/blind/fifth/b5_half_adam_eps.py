"""Product-category classifier trained in half precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_half_adam_eps",
    "source": "CASES.md: TheDeepChecker 42064941 / 50975389, taxonomy (epsilon for Adam too low in float16); forum working-with-half-model",
    "roots": ["low-precision-overflow"],
    "description": "weights and Adam state are float16: squared gradients underflow and eps=1e-8 rounds to 0, the update divides by zero",
    "location": "build: model.half() with Adam",
    "shows_in": "nan",
}


class CategoryNet(nn.Module):
    def __init__(self, n_in, n_classes):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, n_classes)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x).float()


def products(n, g):
    shared = torch.Generator().manual_seed(12)
    centres = torch.randn(12, 64, generator=shared)
    y = torch.randint(0, 12, (n,), generator=g)
    return centres[y] + 0.8 * torch.randn(n, 64, generator=g), y


class HalfTrainer:
    def __init__(self, model, dtype):
        self.dtype = dtype
        self.model = model.to(dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def training_step(self, batch):
        x, y = batch
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x.to(self.dtype)), y)
        loss.backward()
        self.optimizer.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = products(8 * 32, g)
    data = list(zip(x.split(32), y.split(32)))
    trainer = HalfTrainer(CategoryNet(64, 12), torch.float32 if fixed else torch.float16)
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": data, "step": trainer.training_step}
