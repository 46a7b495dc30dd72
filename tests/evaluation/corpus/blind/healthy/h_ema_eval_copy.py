"""Regression with an EMA copy of the weights."""
import torch
import torch.nn as nn

META = {
    "id": "h_ema_eval_copy",
    "description": 'A second copy of the model (AveragedModel) trails behind and is never trained by gradients; it is kept inside the same wrapper module.',
    "roots": [],
}


class WithEMA(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.ema = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98))
        self.ema.requires_grad_(False)

    def forward(self, x):
        return (self.net if self.training else self.ema)(x).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.rand(32, 3) * 2 - 1
        data.append((x, torch.exp(-x[:, 0] ** 2) + x[:, 1] * x[:, 2]))
    model = WithEMA(nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.NAdam(model.net.parameters(), lr=3e-3)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        model.ema.update_parameters(model.net)
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
