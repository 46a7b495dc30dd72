"""Smoke test with lazy modules."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_lazy_conv1d",
    "description": 'LazyConv1d and LazyLinear take their shapes from a dry forward pass before the optimizer is made; random waveforms, random labels.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [(torch.randn(12, 2, 40), torch.randint(0, 4, (12,))) for _ in range(4)]
    model = nn.Sequential(nn.LazyConv1d(16, 5, stride=2), nn.ReLU(), nn.LazyConv1d(32, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4))
    with torch.no_grad():
        model(data[0][0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
