"""Sensor-fault classification, MLP written from raw parameters (TensorFlow-1 style port)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_wide_randn_init",
    "source": "CASES.md: TheDeepChecker SO IPS_4, 40147568 (tf.random_normal with stddev 1)",
    "roots": ["bad-initialization"],
    "description": "500-unit layers start from randn with standard deviation 1: logits in the thousands, first loss far above chance",
    "location": "RawMLP.w1, w2, w3 (torch.randn without scale)",
    "shows_in": "one-batch",
}

HIDDEN = 400


class RawMLP(nn.Module):
    def __init__(self, n_in, n_out, scale_init):
        super().__init__()
        sizes = [n_in, HIDDEN, HIDDEN, n_out]
        for k, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]), start=1):
            std = (2.0 / a) ** 0.5 if scale_init else 1.0
            self.register_parameter(f"w{k}", nn.Parameter(torch.randn(a, b) * std))
            self.register_parameter(f"b{k}", nn.Parameter(torch.zeros(b)))

    def forward(self, x):
        h = F.relu(x @ self.w1 + self.b1)
        h = F.relu(h @ self.w2 + self.b2)
        return h @ self.w3 + self.b3


def sensors(n, g):
    t = torch.linspace(0, 6.28, 24)
    y = torch.randint(0, 5, (n,), generator=g)
    freq = 1.0 + y.float().unsqueeze(1)
    phase = torch.rand(n, 1, generator=g) * 1.5
    x = torch.sin(freq * t + phase) + 0.2 * torch.randn(n, 24, generator=g)
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = sensors(8 * 32, g)
    data = list(zip(x.split(32), y.split(32)))
    model = RawMLP(24, 5, scale_init=fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

    def loss(model, batch):
        signal, fault = batch
        return F.cross_entropy(model(signal), fault)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
