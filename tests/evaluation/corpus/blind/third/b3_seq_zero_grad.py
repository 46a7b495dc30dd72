"""Counting events in a sequence with a GRU and SGD."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_seq_zero_grad",
    "source": "own experience (parentheses forgotten)",
    "roots": ["missing-zero-grad"],
    "description": "optimizer.zero_grad is named but not called: gradients add up over all steps",
    "location": "step: optimizer.zero_grad without parentheses",
    "shows_in": "one-batch",
}


class Counter(nn.Module):
    def __init__(self, n_in=4, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 3)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(h[:, -1])


def sequences(g, n_batches=8, batch=32, length=14):
    data = []
    for _ in range(n_batches):
        event = (torch.rand(batch, length, 3, generator=g) < 0.3).float()
        noise = 0.2 * torch.randn(batch, length, 1, generator=g)
        count = event.sum(dim=1)
        data.append((torch.cat([event, noise], dim=-1), (count - 4) / 2))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 58)
    data = sequences(g)
    model = Counter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch):
        x, y = batch
        if fixed:
            optimizer.zero_grad()
        else:
            optimizer.zero_grad
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
