"""Fine-tuning with gradual unfreezing."""
import torch
import torch.nn as nn

META = {
    "id": "h_gradual_unfreeze",
    "description": 'Head only for 30 steps, then the last block, then all (ULMFiT); a group is added to the optimizer when it is unfrozen.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(16, 64), nn.ReLU())
        self.block2 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.block2(self.block1(x)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(16, 4)
    model = Net()
    pre = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(100):                         # source task
        x = torch.randn(64, 16)
        pre.zero_grad()
        nn.functional.cross_entropy(model(x), (x @ w).argmax(1)).backward()
        pre.step()
    model.zero_grad(set_to_none=True)
    model.head = nn.Linear(64, 4)
    w2 = w + 0.7 * torch.randn_like(w)
    data = []
    for _ in range(8):
        x = torch.randn(32, 16)
        data.append((x, (x @ w2).argmax(1)))
    model.block1.requires_grad_(False)
    model.block2.requires_grad_(False)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
    state = {"n": 0}

    def unfreeze(block, lr):
        block.requires_grad_(True)
        optimizer.add_param_group({"params": list(block.parameters()), "lr": lr})

    def step(batch):
        state["n"] += 1
        if state["n"] == 30:
            unfreeze(model.block2, 3e-3)
        if state["n"] == 60:
            unfreeze(model.block1, 1e-3)
        x, y = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
