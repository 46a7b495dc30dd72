import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "h9_coral_ordinal", "source": "medical grading Kaggle kernel", "roots": [], "checks": [],
        "description": "healthy ordinal regression (CORAL): shared weight, ordered biases, imbalanced grades, mixup", "location": ""}
K = 5


class GradeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.SiLU(),
                                  nn.Conv2d(12, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.SiLU())
        self.fc = nn.Linear(24, 1, bias=False)
        self.first = nn.Parameter(torch.tensor(0.5))
        self.gaps = nn.Parameter(torch.zeros(K - 2))

    def forward(self, x):
        f = self.stem(x)
        f = f.mean((2, 3))
        cut = torch.cat([self.first[None], self.first - F.softplus(self.gaps).cumsum(0)])
        return self.fc(f) + cut


def scans(n, g):
    grade = torch.multinomial(torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05]), n, True, generator=g)
    x = 0.3 * torch.randn(n, 1, 16, 16, generator=g)
    for k in range(n):                                # number of lesions grows with the grade
        for _ in range(int(grade[k]) * 3):
            r, c = torch.randint(0, 14, (2,), generator=g).tolist()
            x[k, 0, r:r + 2, c:c + 2] += 1.5
    return x, grade


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [scans(32, g) for _ in range(12)]
    y = torch.cat([b[1] for b in data])
    share = torch.stack([(y > k).float().mean() for k in range(K - 1)])
    weight = (1 / (share * (1 - share)).sqrt())
    weight = weight / weight.mean()
    model = GradeNet()
    opt = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=1e-3)

    def step(batch):
        x, grade = batch
        model.train()
        levels = (grade[:, None] > torch.arange(K - 1)).float()
        lam = float(torch.distributions.Beta(0.2, 0.2).sample().clamp(0.0, 1.0))
        lam = max(lam, 1 - lam)
        p = torch.randperm(len(x))
        logits = model(lam * x + (1 - lam) * x[p])
        loss = (F.binary_cross_entropy_with_logits(logits, lam * levels + (1 - lam) * levels[p], reduction="none") * weight).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
