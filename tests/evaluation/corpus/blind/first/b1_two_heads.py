"""Multi-task network for age and gender from voice features, one optimizer per task."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_two_heads",
    "source": "own experience: one optimizer per head, both holding the shared trunk",
    "roots": ["duplicate-parameters"],
    "description": "the shared trunk is in both optimizers and therefore stepped twice for every batch",
    "location": "opt_gender = Adam(trunk + gender head)",
    "shows_in": "wiring",
}


class VoiceNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_in, 96), nn.ReLU(),
            nn.Linear(96, 64), nn.ReLU(),
        )
        self.age = nn.Linear(64, 1)
        self.gender = nn.Linear(64, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(-1), self.gender(h)


def make_voices(n, n_in=20):
    age = torch.randn(n)
    gender = torch.randint(0, 2, (n,))
    mix = torch.randn(4, n_in)
    latent = torch.stack([age, gender.float() * 2 - 1, age * (gender.float() - 0.5), torch.randn(n)], dim=1)
    x = torch.tanh(latent @ mix * 0.5) + 0.1 * torch.randn(n, n_in)
    return (x - x.mean(0)) / x.std(0), age, gender


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 40
    x, age, gender = make_voices(9 * bs)
    data = [{"x": a, "age": b, "gender": c} for a, b, c in zip(x.split(bs), age.split(bs), gender.split(bs))]
    model = VoiceNet(x.shape[1])
    opt_age = torch.optim.Adam([*model.trunk.parameters(), *model.age.parameters()], lr=1e-3)
    if fixed:
        opt_gender = torch.optim.Adam(model.gender.parameters(), lr=1e-3)
    else:
        opt_gender = torch.optim.Adam([*model.trunk.parameters(), *model.gender.parameters()], lr=1e-3)

    def step(batch):
        age, gender = model(batch["x"])
        loss_age = F.mse_loss(age, batch["age"])
        loss_gender = F.cross_entropy(gender, batch["gender"])
        loss = loss_age + loss_gender
        opt_age.zero_grad()
        opt_gender.zero_grad()
        loss.backward()
        opt_age.step()
        opt_gender.step()
        return loss.detach()

    return {"model": model, "optimizer": opt_age, "data": data, "step": step}
