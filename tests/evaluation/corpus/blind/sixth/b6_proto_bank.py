"""Classifier with a momentum bank of class prototypes that regularises the embedding."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_proto_bank",
    "source": "register_buffer(..., persistent=False) for memory banks and prototypes (MoCo / prototype forks), used to silence size mismatches on load",
    "roots": ["checkpoint-incomplete"],
    "checks": ["resumes_exactly"],
    "description": "The prototype bank is a non-persistent buffer and therefore not in the state dict; a resumed run starts from fresh random prototypes.",
    "location": "ProtoNet.__init__: register_buffer('bank', ..., persistent=False)",
}


class ProtoNet(nn.Module):
    def __init__(self, n_in=20, dim=16, classes=5, m=0.95, persistent=False):
        super().__init__()
        self.m = m
        self.encoder = nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, dim))
        self.head = nn.Linear(dim, classes)
        self.register_buffer("bank", F.normalize(torch.randn(classes, dim), dim=1), persistent=persistent)

    def forward(self, x):
        z = F.normalize(self.encoder(x), dim=1)
        return self.head(z), z

    @torch.no_grad()
    def update_bank(self, z, y):
        for c in y.unique().tolist():
            self.bank[c] = F.normalize(self.m * self.bank[c] + (1 - self.m) * z[y == c].mean(0), dim=0)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    centers = torch.randn(5, 20, generator=gen)
    data = []
    for _ in range(8):
        y = torch.randint(0, 5, (32,), generator=gen)
        x = torch.tanh(centers[y] + 0.7 * torch.randn(32, 20, generator=gen))
        data.append((x, y))
    model = ProtoNet(persistent=fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch):
        x, y = batch
        logits, z = model(x)
        pull = (z * model.bank[y]).sum(1)
        loss = F.cross_entropy(5 * logits, y) + 0.5 * (1 - pull).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.update_bank(z.detach(), y)
        return loss

    def save(path):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)

    def load(path):
        ckpt = torch.load(path)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])

    return {"model": model, "optimizer": optimizer, "data": data, "step": step, "save": save, "load": load}
