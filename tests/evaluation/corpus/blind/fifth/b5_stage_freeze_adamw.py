"""Two-stage fine-tuning: warm-up of the whole net, then the encoder is frozen and the head goes on."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_stage_freeze_adamw",
    "source": "facebookresearch/fairseq #4702 (parameters with requires_grad=False still updated), ocannl #673 (frozen weights decay)",
    "roots": ["frozen-parameters-change"],
    "description": "the encoder is frozen after it has gradients; they are zeroed, not set to None, so AdamW goes on moving it by momentum and weight decay",
    "location": "FineTuner.train_step: zero_grad(set_to_none=False) after freeze_encoder",
    "shows_in": "wiring",
}


class Classifier(nn.Module):
    def __init__(self, vocab=150, d=48, n_classes=5):
        super().__init__()
        self.encoder = nn.ModuleDict({
            "emb": nn.Embedding(vocab, d),
            "gru": nn.GRU(d, d, batch_first=True),
        })
        self.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, n_classes))

    def forward(self, ids):
        h, _ = self.encoder["gru"](self.encoder["emb"](ids))
        return self.head(h.mean(1))


class FineTuner:
    def __init__(self, model, fixed):
        self.model = model
        self.fixed = fixed
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)

    def freeze_encoder(self):
        for p in self.model.encoder.parameters():
            p.requires_grad_(False)
            if self.fixed:
                p.grad = None

    def train_step(self, batch):
        ids, label = batch
        self.optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(self.model(ids), label)
        loss.backward()
        self.optimizer.step()
        return loss


def texts(n, seed):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 5, (n,), generator=g)
    topic = label.unsqueeze(1) * 30 + torch.randint(0, 30, (n, 12), generator=g)
    noise = torch.randint(0, 150, (n, 12), generator=g)
    return torch.where(torch.rand(n, 12, generator=g) < 0.6, topic, noise), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ids, label = texts(8 * 32, seed)
    data = list(zip(ids.split(32), label.split(32)))
    model = Classifier()
    tuner = FineTuner(model, fixed)
    for batch in data[:6]:
        tuner.train_step(batch)
    tuner.freeze_encoder()
    return {"model": model, "optimizer": tuner.optimizer, "data": data, "step": tuner.train_step}
