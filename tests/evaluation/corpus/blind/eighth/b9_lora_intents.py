import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_lora_intents", "source": "PEFT/LoRA fine-tuning: the new classification head missing from modules_to_save",
        "roots": ["frozen-parameters"], "checks": [],
        "description": "mark_only_lora_as_trainable freezes the freshly initialised classification head as well",
        "location": "mark_only_lora_as_trainable"}


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=2):
        super().__init__()
        self.base, self.scale = base, alpha / r
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.t() @ self.lora_B.t()) * self.scale


class Encoder(nn.Module):
    def __init__(self, vocab, d=32, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.q = nn.ModuleList([nn.Linear(d, d) for _ in range(depth)])
        self.v = nn.ModuleList([nn.Linear(d, d) for _ in range(depth)])
        self.ff = nn.ModuleList([nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(depth)])
        self.n1 = nn.ModuleList([nn.LayerNorm(d) for _ in range(depth)])
        self.n2 = nn.ModuleList([nn.LayerNorm(d) for _ in range(depth)])

    def forward(self, ids):
        x = self.emb(ids)
        for q, v, ff, n1, n2 in zip(self.q, self.v, self.ff, self.n1, self.n2):
            h = n1(x)
            att = torch.softmax(q(h) @ h.transpose(1, 2) / math.sqrt(h.size(-1)), -1)
            x = x + att @ v(h)
            x = x + ff(n2(x))
        return x.mean(1)


class IntentModel(nn.Module):
    def __init__(self, encoder, n_intents):
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(32, n_intents)
        nn.init.normal_(self.classifier.weight, std=0.02)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, ids):
        return self.classifier(self.encoder(ids))


def inject(encoder):
    for i in range(len(encoder.q)):
        encoder.q[i] = LoRALinear(encoder.q[i])
        encoder.v[i] = LoRALinear(encoder.v[i])


def mark_only_lora_as_trainable(model, extra=()):
    for name, p in model.named_parameters():
        p.requires_grad = "lora_" in name or any(name.startswith(e) for e in extra)


def utterances(n, seed, vocab=80, n_intents=8, length=10):
    g = torch.Generator().manual_seed(seed + 15)
    y = torch.randint(0, n_intents, (n,), generator=g)
    ids = torch.randint(0, vocab, (n, length), generator=g)
    for j in range(4):
        ids[torch.arange(n), torch.randint(0, length, (n,), generator=g)] = y * 10 + torch.randint(0, 6, (n,), generator=g)
    return ids, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    encoder = Encoder(80)
    model = IntentModel(encoder, 8)
    inject(encoder)
    mark_only_lora_as_trainable(model, extra=("classifier",) if fixed else ())
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
    ids, y = utterances(512, seed)
    data = list(zip(ids.split(32), y.split(32)))
    return {"model": model, "optimizer": optimizer, "data": data,
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
