"""Image and caption matching; every few steps a validation runs inside the training step."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_val_eval",
    "source": "fartashf/vsepp #4, facebookresearch/clevr-iep PR 22",
    "roots": ["wrong-mode"],
    "description": "validate() puts the model into eval mode and nobody puts it back: from then on it trains without dropout and with frozen BatchNorm statistics",
    "location": "validate(): model.eval()",
    "shows_in": "wiring",
}
VAL_EVERY = 5


class Matcher(nn.Module):
    def __init__(self, n_img=32, n_txt=20, dim=32):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(n_img, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, dim))
        self.txt = nn.Sequential(nn.Linear(n_txt, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, dim))

    def forward(self, img, txt):
        a, b = F.normalize(self.img(img), dim=-1), F.normalize(self.txt(txt), dim=-1)
        return 12.0 * a @ b.t()


def make_data(n_batches=8, batch_size=24):
    to_img, to_txt = torch.randn(8, 32), torch.randn(8, 20)
    data = []
    for _ in range(n_batches):
        scene = torch.randn(batch_size, 8)
        img = torch.tanh(scene @ to_img / 3) + 0.05 * torch.randn(batch_size, 32)
        txt = torch.tanh(scene @ to_txt / 3) + 0.05 * torch.randn(batch_size, 20)
        data.append((img, txt))
    return data


def contrastive(sim):
    target = torch.arange(sim.size(0))
    return 0.5 * (F.cross_entropy(sim, target) + F.cross_entropy(sim.t(), target))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    *data, val = make_data(9)
    model = Matcher()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    state = {"it": 0, "best": float("inf")}

    def validate():
        model.eval()
        with torch.no_grad():
            state["best"] = min(state["best"], contrastive(model(*val)).item())
        if fixed:
            model.train()

    def step(batch):
        loss = contrastive(model(*batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state["it"] += 1
        if state["it"] % VAL_EVERY == 0:
            validate()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
