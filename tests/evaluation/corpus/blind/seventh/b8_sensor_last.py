import torch, torch.nn as nn
META = {"id": "b8_sensor_last", "source": "classifying padded sensor/event sequences with a GRU", "roots": ["wrong-end-of-sequence", "mask-ignored"], "checks": [],
 "description": "the state at the last padded position is used instead of the state at the true end of the sequence",
 "location": "EventGRU.forward: h[:, -1]"}

class EventGRU(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.fixed = fixed
        self.emb = nn.Embedding(20, 12, padding_idx=0)
        self.gru = nn.GRU(12, 32, batch_first=True)
        self.cls = nn.Linear(32, 4)
    def forward(self, ids, lengths):
        h, _ = self.gru(self.emb(ids))
        if self.fixed:
            last = h[torch.arange(len(ids)), lengths - 1]
        else:
            last = h[:, -1]
        return self.cls(last)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        ids = torch.randint(1, 20, (32, 40))
        ln = torch.randint(3, 12, (32,))
        y = ids[torch.arange(32), ln - 1] % 4
        ids[torch.arange(40)[None] >= ln[:, None]] = 0
        data.append((ids, ln, y))
    model = EventGRU(fixed)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    ce = nn.CrossEntropyLoss()
    def step(batch):
        ids, ln, y = batch
        opt.zero_grad()
        loss = ce(model(ids, ln), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss
    return {"model": model, "optimizer": opt, "data": data, "step": step}
