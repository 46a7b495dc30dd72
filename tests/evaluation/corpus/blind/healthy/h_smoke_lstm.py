"""Smoke test of an LSTM classifier."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_lstm",
    "description": 'Random sequences and random binary labels; only shows that shapes fit and the loss can go down on a batch.',
    "roots": [],
}


class SeqClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 64, batch_first=True)
        self.fc = nn.Linear(64, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [(torch.randn(16, 10, 8), torch.randint(0, 2, (16,))) for _ in range(4)]
    model = SeqClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
