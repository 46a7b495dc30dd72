"""Cuisine of a recipe from its ingredient words, multi-hot vector over a fixed vocabulary."""
import random

import torch
from torch import nn

META = {
    "id": "b7_recipe_cuisine",
    "source": "own; pattern: vocabulary in lower case, text not lowered",
    "roots": ["constant-features"],
    "checks": ["data_is_healthy"],
    "description": "The vocabulary is lower-case and the recipes are written with capitals: hardly a word is found, and all but two of the multi-hot columns are zero in all rows.",
    "location": "inputs of training and validation data",
}

WORDS = {
    "italian": "basil oregano mozzarella parmesan pasta tomato prosciutto ricotta polenta risotto".split(),
    "indian": "cumin turmeric ghee paneer lentil cardamom coriander chickpea tamarind naan".split(),
    "japanese": "miso nori dashi mirin tofu wasabi udon sake edamame bonito".split(),
    "mexican": "tortilla jalapeno cilantro avocado bean lime chipotle corn salsa masa".split(),
}
SHARED = "Salt Pepper Oil Garlic Onion Butter Sugar Water Rice Egg Flour Lemon Chicken Carrot Milk Vinegar".split()
CUISINES = sorted(WORDS)
VOCAB = sorted({w for ws in WORDS.values() for w in ws} | {w.lower() for w in SHARED} | {"g", "ml"})
INDEX = {w: i for i, w in enumerate(VOCAB)}


def recipe(rnd, cuisine):
    words = [w.capitalize() for w in rnd.sample(WORDS[cuisine], rnd.randint(2, 4))]
    other = rnd.choice([c for c in CUISINES if c != cuisine])
    words += [w.capitalize() for w in rnd.sample(WORDS[other], rnd.randint(0, 2))]
    words += rnd.sample(SHARED, rnd.randint(3, 6))
    words += [u for u in ("g", "ml") if rnd.random() < 0.6]
    rnd.shuffle(words)
    return " ".join(words)


def encode(text, lower):
    v = torch.zeros(len(VOCAB))
    for w in (text.lower() if lower else text).split():
        if w in INDEX:
            v[INDEX[w]] = 1.0
    return v


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed)
    labels = [rnd.randrange(4) for _ in range(1000)]
    x = torch.stack([encode(recipe(rnd, CUISINES[k]), fixed) for k in labels])
    y = torch.tensor(labels)
    data = list(zip(x[:840].split(40), y[:840].split(40)))
    val = list(zip(x[840:].split(80), y[840:].split(80)))
    model = nn.Sequential(nn.Linear(len(VOCAB), 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
