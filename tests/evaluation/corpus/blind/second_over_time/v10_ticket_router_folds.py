import random

import torch
import torch.nn as nn

META = {"id": "v10_ticket_router_folds",
        "source": "hand-written k-fold loops in Kaggle notebooks and a Stack Overflow question ('my CV score is too good'): the held-out fold is not removed from the training folds",
        "roots": ["data-leakage"],
        "checks": [],
        "description": "All folds are concatenated for training, the validation fold among them, so every validation ticket is an exact copy of a training ticket and the score says nothing.",
        "location": "Folds.split: the held-out fold stays in the training list"}

VOCAB, LENGTH, QUEUES = 120, 14, 5


def write_tickets(n, rnd):
    """Each queue prefers a topic of 20 words; the rest is small talk."""
    tickets = []
    for _ in range(n):
        q = rnd.randrange(QUEUES)
        words = [1 + q * 20 + rnd.randrange(20) if rnd.random() < 0.4 else 1 + rnd.randrange(VOCAB - 1)
                 for _ in range(LENGTH)]
        tickets.append((words, q))
    return tickets


class Folds:
    def __init__(self, tickets, k):
        self.parts = [tickets[i::k] for i in range(k)]

    def split(self, held, strict):
        train = [t for i, part in enumerate(self.parts) if i != held or not strict for t in part]
        return train, self.parts[held]


class Router(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, QUEUES))

    def forward(self, ids):
        return self.mlp(self.words(ids))


def collate(tickets, size):
    out = []
    for i in range(0, len(tickets), size):
        chunk = tickets[i:i + size]
        out.append({"ids": torch.tensor([w for w, _ in chunk]), "queue": torch.tensor([q for _, q in chunk])})
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed + 3)
    train, held = Folds(write_tickets(4000, rnd), 5).split(0, strict=fixed)
    rnd.shuffle(train)
    model = Router()
    criterion = nn.CrossEntropyLoss()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=5e-3),
            "data": collate(train, 40), "val": collate(held, 80),
            "loss": lambda m, b: criterion(m(b["ids"]), b["queue"])}
