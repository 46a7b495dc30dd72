import random
from collections import Counter
import torch
from torch import nn

META = {"id": "t9_restaurant_reviews", "source": "sentiment tutorial, vocabulary built once per split",
        "roots": ["overfitting", "unnormalized-inputs"], "checks": ["generalizes"],
        "description": "validation sentences are numbered with a vocabulary of their own, so their ids mean other words",
        "location": "build: val vocabulary; the list of causes has no exact name"}

GOOD = "great lovely tasty friendly quick warm fresh charming superb cosy clean generous".split()
BAD = "awful cold rude slow stale noisy greasy bland dirty overpriced burnt tiny".split()
PLAIN = "the a soup waiter table place we evening lunch food wine fish bread was and very quite on with menu again".split()


def write_review(rnd):
    stars = rnd.random() < 0.5
    words = [rnd.choice(PLAIN) for _ in range(9)]
    for _ in range(5):
        pool = (GOOD if stars else BAD) if rnd.random() < 0.95 else (BAD if stars else GOOD)
        words.insert(rnd.randrange(len(words)), rnd.choice(pool))
    return " ".join(words), int(stars)


def build_vocab(texts):
    counts = Counter(w for t in texts for w in t.split())
    return {w: i + 1 for i, (w, _) in enumerate(counts.most_common())}


def encode(reviews, vocab):
    ids = torch.tensor([[vocab.get(w, 0) for w in t.split()] for t, _ in reviews])
    return ids, torch.tensor([s for _, s in reviews])


class BagOfEmbeddings(nn.Module):
    def __init__(self, n_words, dim=24):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim)
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, ids):
        h = self.emb(ids).mean(1)
        return self.fc2(torch.relu(self.fc1(h)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed + 2)
    train = [write_review(rnd) for _ in range(3200)]
    val = [write_review(rnd) for _ in range(320)]
    vocab = build_vocab(t for t, _ in train)
    val_vocab = vocab if fixed else build_vocab(t for t, _ in val)
    model = BagOfEmbeddings(len(vocab) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, y = encode(train, vocab)
    vx, vy = encode(val, val_vocab)
    data = [{"ids": a, "stars": b} for a, b in zip(x.split(32), y.split(32))]
    val_data = [{"ids": a, "stars": b} for a, b in zip(vx.split(64), vy.split(64))]

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["ids"]), batch["stars"])

    return {"model": model, "optimizer": optimizer, "data": data, "val": val_data, "loss": loss}
