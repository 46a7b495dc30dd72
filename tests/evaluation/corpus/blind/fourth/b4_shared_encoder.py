"""Two-task encoder: next value and anomaly flag, one optimizer per task."""
import itertools
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_shared_encoder",
    "source": "own experience (one optimizer per task over a shared trunk)",
    "roots": ["duplicate-parameters"],
    "description": "the shared encoder is in both optimizers and is stepped twice on the same gradient",
    "location": "encoder parameters in opt_flag and opt_next",
    "shows_in": "wiring",
}


class SeriesEncoder(nn.Module):
    def __init__(self, channels=4, hidden=32):
        super().__init__()
        self.encoder = nn.GRU(channels, hidden, batch_first=True)
        self.next_head = nn.Linear(hidden, channels)
        self.flag_head = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.encoder(x)
        return self.next_head(h[-1]), self.flag_head(h[-1]).squeeze(1)


def series(n, steps=12, channels=4):
    phase = torch.rand(n, channels, 1) * 6.28
    rate = torch.tensor([0.3, 0.5, 0.7, 0.9]).view(1, channels, 1)
    wave = torch.sin(rate * torch.arange(steps + 1).float() + phase)
    flag = (torch.rand(n) < 0.4).float()
    spike = torch.randint(4, steps, (n,))
    wave[torch.arange(n), 0, spike] += 3 * flag
    wave = wave.transpose(1, 2)
    return wave[:, :-1], wave[:, -1], flag


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, nxt, flag = series(256)
    data = [{"x": x[i:i + 32], "next": nxt[i:i + 32], "flag": flag[i:i + 32]} for i in range(0, 256, 32)]
    model = SeriesEncoder()
    opt_next = torch.optim.Adam(itertools.chain(model.encoder.parameters(), model.next_head.parameters()), lr=5e-3)
    if fixed:
        flag_params = list(model.flag_head.parameters())
    else:
        flag_params = list(model.encoder.parameters()) + list(model.flag_head.parameters())
    opt_flag = torch.optim.Adam(flag_params, lr=5e-3)

    def step(batch):
        model.train()
        predicted, logit = model(batch["x"])
        loss = F.mse_loss(predicted, batch["next"]) + F.binary_cross_entropy_with_logits(logit, batch["flag"])
        opt_next.zero_grad()
        opt_flag.zero_grad()
        loss.backward()
        opt_next.step()
        opt_flag.step()
        return loss

    return {"model": model, "optimizer": [opt_next, opt_flag], "data": data, "step": step}
