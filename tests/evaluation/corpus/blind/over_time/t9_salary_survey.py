import torch
from torch import nn

META = {"id": "t9_salary_survey", "source": "labour statistics notebook, half of the variance is chance", "roots": [],
        "checks": ["generalizes"], "description": "healthy: regression whose loss ends at a noise floor", "location": ""}


def survey(n, g):
    years = torch.rand(n, generator=g) * 40
    school = torch.randint(8, 20, (n,), generator=g).float()
    sector = torch.randint(0, 6, (n,), generator=g)
    part_time = (torch.rand(n, generator=g) < 0.3).float()
    log_pay = 0.03 * years - 0.0005 * years ** 2 + 0.07 * school - 0.6 * part_time
    log_pay = log_pay + torch.tensor([0.0, 0.2, -0.2, 0.4, 0.1, -0.3])[sector] + 0.35 * torch.randn(n, generator=g)
    numeric = torch.stack([(years - 20) / 11.5, (school - 13.5) / 3.5, part_time * 2 - 0.6], 1)
    return numeric, sector, (log_pay - 1.1) / 0.6


class PayModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.sector = nn.Embedding(6, 4)
        self.hidden = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.out = nn.Linear(32, 1)

    def forward(self, numeric, sector):
        return self.out(self.hidden(torch.cat([numeric, self.sector(sector)], 1))).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 33)
    numeric, sector, pay = survey(9600, g)
    rows = torch.arange(9600)
    model = PayModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    train = [(numeric[i], sector[i], pay[i]) for i in rows[:8320].split(64)]
    val = [(numeric[i], sector[i], pay[i]) for i in rows[8320:].split(64)]

    def loss(model, batch):
        a, b, target = batch
        return nn.functional.mse_loss(model(a, b), target)

    return {"model": model, "optimizer": optimizer, "data": train, "val": val, "loss": loss}
