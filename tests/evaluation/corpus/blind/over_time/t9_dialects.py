import random
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "t9_dialects", "source": "dialect identification repository", "roots": [],
        "checks": ["generalizes"], "description": "healthy: label smoothing in training, plain cross entropy in validation", "location": ""}

STEMS = ["mak", "gros", "hel", "win", "dor", "brot", "zit", "lan", "fis", "tor"]
ENDINGS = {0: ["e", "li", "er"], 1: ["en", "erl", "a"], 2: ["n", "ke", "t"], 3: ["et", "el", "o"]}
ALPHABET = {c: i + 1 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz ")}


def speak(rnd):
    dialect = rnd.randrange(4)
    words = []
    for _ in range(5):
        source = dialect if rnd.random() < 0.85 else rnd.randrange(4)
        words.append(rnd.choice(STEMS) + rnd.choice(ENDINGS[source]))
    ids = [ALPHABET[c] for c in " ".join(words)][:32]
    return ids + [0] * (32 - len(ids)), dialect


def corpus(n, rnd):
    ids, dialects = zip(*(speak(rnd) for _ in range(n)))
    return torch.tensor(ids), torch.tensor(dialects)


class CharCNN(nn.Module):
    def __init__(self, smoothing=0.1):
        super().__init__()
        self.emb = nn.Embedding(len(ALPHABET) + 1, 16, padding_idx=0)
        self.conv = nn.Conv1d(16, 64, 5, padding=2)
        self.fc = nn.Linear(64, 4)
        self.smoothing = smoothing

    def forward(self, ids):
        h = F.relu(self.conv(self.emb(ids).transpose(1, 2)))
        h = h * (ids > 0)[:, None]
        return self.fc(h.sum(2) / 6)

    def objective(self, ids, dialect):
        smoothing = self.smoothing if self.training else 0.0
        return F.cross_entropy(self(ids), dialect, label_smoothing=smoothing)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed + 6)
    ids, dialects = corpus(2560, rnd)
    vids, vdialects = corpus(384, rnd)
    model = CharCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    return {"model": model, "optimizer": optimizer, "loss": lambda m, b: m.objective(*b),
            "data": list(zip(ids.split(32), dialects.split(32))), "val": list(zip(vids.split(48), vdialects.split(48)))}
