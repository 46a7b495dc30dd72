"""Image classifier whose batches are run in four micro-batches to save memory."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_accum_zero",
    "source": "bytetriper/RAE #67, ZiqiaoPeng/DualTalk #9",
    "roots": ["gradients-cleared-before-step"],
    "description": "zero_grad is called for every micro-batch, so only the last micro-batch's gradient reaches the step",
    "location": "optimizer.zero_grad() in the micro-batch loop",
    "shows_in": "one-batch",
}
MICRO = 4


class ShapeNet(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(24 * 9, n_classes)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def make_data(n_batches=6, batch_size=32):
    protos = torch.randn(8, 1, 12, 12)
    data = []
    for _ in range(n_batches):
        y = torch.arange(8).repeat_interleave(batch_size // 8)
        x = protos[y] + 0.7 * torch.randn(batch_size, 1, 12, 12)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = ShapeNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def step(batch):
        images, labels = batch
        running = 0.0
        if fixed:
            optimizer.zero_grad(set_to_none=True)
        for micro_x, micro_y in zip(images.chunk(MICRO), labels.chunk(MICRO)):
            if not fixed:
                optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(micro_x), micro_y) / MICRO
            loss.backward()
            running += loss.detach()
        optimizer.step()
        return running

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
