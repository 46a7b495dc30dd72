"""Daily sales regression of shops, sales joined with the shops' attributes."""
import numpy as np
import pandas as pd
import torch
from torch import nn

META = {
    "id": "b7_store_sales",
    "source": "own; pattern: pandas merge on a key that is not unique on the right",
    "roots": ["duplicated-samples"],
    "checks": ["data_is_healthy"],
    "description": "The attribute table lists each shop once per year of the register; the merge multiplies every sales row by eight, the copies are identical in all features and in the target.",
    "location": "training data, rows",
}

FEATURES = ["weekday_sin", "weekday_cos", "promo", "temperature", "holiday_near", "size", "distance"]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    shops = pd.DataFrame({"shop": np.arange(30), "size": rng.normal(size=30), "distance": rng.normal(size=30)})
    register = pd.concat([shops.assign(year=2012 + k) for k in range(8)], ignore_index=True)

    n = 900
    day = rng.integers(0, 7, n)
    sales = pd.DataFrame({
        "shop": rng.integers(0, 30, n),
        "weekday_sin": np.sin(2 * np.pi * day / 7),
        "weekday_cos": np.cos(2 * np.pi * day / 7),
        "promo": rng.integers(0, 2, n).astype(float),
        "temperature": rng.normal(size=n),
        "holiday_near": (rng.random(n) < 0.15).astype(float),
    })
    size = shops["size"].to_numpy()[sales.shop]
    sales["sales"] = (0.7 * sales.promo + 0.5 * size + 0.5 * sales.weekday_cos + 0.3 * sales.temperature
                      + 0.6 * sales.holiday_near * sales.promo + rng.normal(0, 0.3, n))
    train, val = sales.iloc[:750], sales.iloc[750:]

    if fixed:
        train = train.merge(register.drop_duplicates("shop", keep="last"), on="shop")
    else:
        train = train.merge(register, on="shop")
    val = val.merge(shops, on="shop")
    train = train.sample(frac=1.0, random_state=seed)

    def batches(df, size):
        x = torch.tensor(df[FEATURES].to_numpy(), dtype=torch.float32)
        y = torch.tensor(df["sales"].to_numpy(), dtype=torch.float32)
        return list(zip(x.split(size), y.split(size)))

    model = nn.Sequential(nn.Linear(len(FEATURES), 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x)[:, 0], y)

    return {"model": model, "optimizer": optimizer, "data": batches(train, 50), "loss": loss, "val": batches(val, 75)}
