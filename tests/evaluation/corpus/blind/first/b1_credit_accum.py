"""Credit default model with gradient accumulation."""
import torch
import torch.nn as nn

META = {
    "id": "b1_credit_accum",
    "source": "own experience: accumulation condition that never holds",
    "roots": ["missing-optimizer-step"],
    "description": "the step is taken when n % accumulate == accumulate, which is never the case",
    "location": "step: condition before optimizer.step()",
    "shows_in": "one-batch",
}


class CreditNet(nn.Module):
    def __init__(self, n_jobs, n_regions, n_num):
        super().__init__()
        self.job = nn.Embedding(n_jobs, 6)
        self.region = nn.Embedding(n_regions, 4)
        self.body = nn.Sequential(
            nn.Linear(10 + n_num, 64), nn.LayerNorm(64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, cat, num):
        h = torch.cat([self.job(cat[:, 0]), self.region(cat[:, 1]), num], dim=1)
        return self.body(h).squeeze(1)


def load_loans(n, n_jobs=10, n_regions=6, n_num=7):
    cat = torch.stack([torch.randint(0, n_jobs, (n,)), torch.randint(0, n_regions, (n,))], dim=1)
    num = torch.randn(n, n_num)
    job_risk = torch.randn(n_jobs)
    region_risk = torch.randn(n_regions)
    score = job_risk[cat[:, 0]] + region_risk[cat[:, 1]] - 1.5 * num[:, 0] + num[:, 1] * num[:, 2]
    return cat, num, (score > 0).float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs, accumulate = 32, 2
    cat, num, default = load_loans(12 * bs)
    data = [(cat[i:i + bs], num[i:i + bs], default[i:i + bs]) for i in range(0, len(cat), bs)]
    model = CreditNet(10, 6, num.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    count = 0

    def step(batch):
        nonlocal count
        cat, num, default = batch
        loss = criterion(model(cat, num), default)
        (loss / accumulate).backward()
        count += 1
        if count % accumulate == (0 if fixed else accumulate):
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
