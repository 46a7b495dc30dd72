import torch
import torch.nn as nn

META = {"id": "t9_bird_calls", "source": "citizen science audio repository, first annotator's vote taken as label",
        "roots": ["label-noise"], "checks": ["data_is_healthy"],
        "description": "a third of the labels is wrong, since single votes are taken instead of the majority of nine",
        "location": "aggregate: votes[:, 0]"}

SPECIES = 5


def spectrograms(n, g):
    species = torch.randint(0, SPECIES, (n,), generator=g)
    prototypes = torch.randn(SPECIES, 8, 10, generator=g)
    x = prototypes[species] + 0.7 * torch.randn(n, 8, 10, generator=g)
    return x, species


def ask_volunteers(species, g, people=9, skill=0.58):
    n = len(species)
    sure = torch.rand(n, people, generator=g) < skill
    guesses = torch.randint(0, SPECIES, (n, people), generator=g)
    return torch.where(sure, species[:, None], guesses)


def aggregate(votes, majority):
    if majority:
        return votes.mode(dim=1).values
    return votes[:, 0]


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 48, batch_first=True)
        self.head = nn.Linear(48, SPECIES)

    def forward(self, spec):
        _, h = self.gru(spec.transpose(1, 2))
        return self.head(h[-1])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 31)
    x, species = spectrograms(1536, g)
    labels = aggregate(ask_volunteers(species, g), majority=fixed)
    train_x, val_x = x[:1280], x[1280:]
    train_y, val_y = labels[:1280], species[1280:]
    model = CallNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    data = list(zip(train_x.split(32), train_y.split(32)))
    val = list(zip(val_x.split(64), val_y.split(64)))

    def loss(model, batch):
        spec, label = batch
        return nn.functional.cross_entropy(model(spec), label)

    return {"model": model, "optimizer": optimizer, "data": data, "val": val, "loss": loss}
