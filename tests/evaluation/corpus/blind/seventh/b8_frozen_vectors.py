import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_frozen_vectors", "source": "text classifiers on frozen word vectors", "roots": ["frozen-parameters-change"], "checks": [],
 "description": "the pretrained vectors are 'frozen' by a hook which zeroes their gradient, yet they stay in AdamW, whose weight decay shrinks them at every step",
 "location": "freeze"}

class BagOfVectors(nn.Module):
    def __init__(self, vec):
        super().__init__()
        self.emb = nn.Embedding.from_pretrained(vec.clone(), freeze=False)
        self.ff = nn.Sequential(nn.Linear(vec.shape[1], 32), nn.ReLU(), nn.Linear(32, 4))
    def forward(self, ids):
        return self.ff(self.emb(ids).mean(1))

def freeze(p, fixed):
    if fixed:
        p.requires_grad_(False)
    else:
        p.register_hook(torch.zeros_like)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vec = torch.randn(120, 16)
    dirs = torch.randn(16, 4)
    data = []
    for _ in range(8):
        ids = torch.randint(0, 120, (32, 8))
        data.append((ids, (vec[ids].mean(1) @ dirs).argmax(1)))
    model = BagOfVectors(vec)
    freeze(model.emb.weight, fixed)
    groups = [{"params": list(model.ff.parameters()), "weight_decay": 0.01}]
    if model.emb.weight.requires_grad:
        groups.append({"params": [model.emb.weight], "weight_decay": 2.0})
    optimizer = torch.optim.AdamW(groups, lr=2e-2)
    def step(batch):
        ids, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
