"""Weekly store demand forecasting from categorical and numeric features."""
import torch
from torch import nn

META = {
    "id": "b1_demand_relu",
    "source": "CASES.md C 60801900 (model predicts negative values as zeros)",
    "roots": ["wrong-output-activation"],
    "description": "a ReLU after the last linear layer, while the targets (standardised demand change) are signed",
    "location": "DemandNet.mlp, the last nn.ReLU",
    "shows_in": "one-batch",
}


class DemandNet(nn.Module):
    def __init__(self, n_stores, n_items, n_num, final_relu):
        super().__init__()
        self.store = nn.Embedding(n_stores, 8)
        self.item = nn.Embedding(n_items, 12)
        layers = [
            nn.Linear(8 + 12 + n_num, 96), nn.ReLU(),
            nn.Linear(96, 48), nn.ReLU(),
            nn.Linear(48, 1),
        ]
        if final_relu:
            layers.append(nn.ReLU())
        self.mlp = nn.Sequential(*layers)

    def forward(self, store, item, num):
        x = torch.cat([self.store(store), self.item(item), num], dim=-1)
        return self.mlp(x).squeeze(-1)


def make_data(n, n_stores, n_items, n_num):
    store = torch.randint(0, n_stores, (n,))
    item = torch.randint(0, n_items, (n,))
    num = torch.randn(n, n_num)
    store_level = torch.randn(n_stores)
    item_level = torch.randn(n_items)
    price_effect = torch.randn(n_items) * 0.5
    y = store_level[store] + item_level[item] + price_effect[item] * num[:, 0]
    y = y + 0.5 * num[:, 1] * num[:, 2] + 0.3 * torch.sin(2 * num[:, 3])
    y = (y - y.mean()) / y.std()
    return store, item, num, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_stores, n_items, n_num, bs = 15, 40, 6, 64
    store, item, num, y = make_data(8 * bs, n_stores, n_items, n_num)
    data = [
        {"store": store[i:i + bs], "item": item[i:i + bs], "num": num[i:i + bs], "change": y[i:i + bs]}
        for i in range(0, len(y), bs)
    ]
    model = DemandNet(n_stores, n_items, n_num, final_relu=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()

    def loss(model, batch):
        pred = model(batch["store"], batch["item"], batch["num"])
        return criterion(pred, batch["change"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
