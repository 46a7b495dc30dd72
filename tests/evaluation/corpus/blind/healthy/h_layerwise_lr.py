"""Discriminative learning rates by depth."""
import torch
import torch.nn as nn

META = {
    "id": "h_layerwise_lr",
    "description": 'Rates fall by a factor of 2.5 per layer towards the input (here from 5e-3 to 3e-4), set per layer group.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.rand(32, 8) * 2 - 1
        data.append((x, torch.stack([x[:, :4].prod(1) * 4, x[:, 4:].sum(1)], 1)))
    layers = [nn.Linear(8, 96), nn.Linear(96, 96), nn.Linear(96, 96), nn.Linear(96, 2)]
    model = nn.Sequential(layers[0], nn.SiLU(), layers[1], nn.SiLU(), layers[2], nn.SiLU(), layers[3])
    groups = [{"params": layer.parameters(), "lr": 5e-3 / 2.5 ** (3 - i)} for i, layer in enumerate(layers)]
    optimizer = torch.optim.AdamW(groups, weight_decay=1e-4)

    def loss(model, batch):
        x, y = batch
        return (model(x) - y).pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
