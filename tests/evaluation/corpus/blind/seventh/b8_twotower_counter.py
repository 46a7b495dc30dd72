import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_twotower_counter", "source": "retrieval trainers with gradient accumulation", "roots": ["missing-optimizer-step"], "checks": [],
 "description": "the step is taken if (global_step + 1) % accumulate == 0, but global_step is only advanced inside that branch: no step is ever taken",
 "location": "RetrievalTrainer.training_step"}

class TwoTower(nn.Module):
    def __init__(self, nu=60, ni=50, d=16):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(nu, d), nn.Linear(d, d))
        self.item = nn.Sequential(nn.Embedding(ni, d), nn.Linear(d, d))
        self.log_t = nn.Parameter(torch.tensor(1.5))
    def forward(self, u):
        a = F.normalize(self.user(u), dim=-1)
        b = F.normalize(self.item[1](self.item[0].weight), dim=-1)
        return a @ b.T * self.log_t.exp()

class RetrievalTrainer:
    def __init__(self, model, optimizer, accumulate, fixed):
        self.model, self.optimizer, self.accumulate, self.fixed = model, optimizer, accumulate, fixed
        self.global_step = 0
    def training_step(self, batch):
        u, pos = batch
        loss = F.cross_entropy(self.model(u), pos)
        (loss / self.accumulate).backward()
        if (self.global_step + 1) % self.accumulate == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
            if not self.fixed:
                self.global_step += 1
        if self.fixed:
            self.global_step += 1
        return loss.item()

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    fav = torch.randint(0, 50, (60,))
    data = []
    for _ in range(8):
        u = torch.randint(0, 60, (48,))
        data.append((u, fav[u]))
    model = TwoTower()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    tr = RetrievalTrainer(model, opt, 2, fixed)
    return {"model": model, "optimizer": opt, "data": data, "step": tr.training_step}
