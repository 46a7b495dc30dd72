"""Copy task with a length curriculum."""
import torch
import torch.nn as nn

META = {
    "id": "h_curriculum_copy",
    "description": 'The number of positions that count grows with a Python counter (2 up to 8), so the loss rises by small steps on the way although the model learns.',
    "roots": [],
}


class CopyNet(nn.Module):
    def __init__(self, vocab=10, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(128, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        ids = torch.randint(0, 10, (16, 8))
        target = (ids + ids.roll(1, 1)) % 10
        target[:, 0] = ids[:, 0]
        data.append((ids, target))
    model = CopyNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    state = {"it": 0}

    def step(batch):
        ids, target = batch
        length = min(8, 2 + state["it"] // 15)
        state["it"] += 1
        optimizer.zero_grad()
        logits = model(ids[:, :length])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, :length].flatten())
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
