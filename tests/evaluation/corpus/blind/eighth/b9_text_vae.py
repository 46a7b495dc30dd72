"""Sentence VAE with KL annealing and word dropout."""
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_text_vae", "source": "Sentence-VAE repositories: annealing counter not in the checkpoint",
        "roots": ["checkpoint-incomplete"], "checks": ["resumes_exactly"],
        "description": "the step counter of the KL annealing is not saved, so a resumed run starts the annealing from zero",
        "location": "save_checkpoint / load_checkpoint"}


class SentenceVAE(nn.Module):
    def __init__(self, vocab=30, emb=24, hidden=40, latent=8):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.encoder = nn.GRU(emb, hidden, batch_first=True)
        self.hidden2mean, self.hidden2logv = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.latent2hidden = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, eps):
        e = self.embedding(ids)
        _, h = self.encoder(e)
        mean, logv = self.hidden2mean(h[-1]), self.hidden2logv(h[-1])
        z = mean + torch.exp(0.5 * logv) * eps
        start = torch.tanh(self.latent2hidden(z)).unsqueeze(0)
        out, _ = self.decoder(e[:, :-1], start)
        return self.out(out), mean, logv


def kl_anneal(step, k=0.02, x0=250):
    return float(1 / (1 + math.exp(-k * (step - x0))))


def sentences(n, seed, vocab=30, length=9):
    g = torch.Generator().manual_seed(seed + 14)
    topic = torch.randint(0, 3, (n, 1), generator=g)
    start = torch.randint(0, 10, (n, 1), generator=g)
    stride = torch.randint(1, 4, (n, 1), generator=g)
    return topic * 10 + (start + stride * torch.arange(length)[None]) % 10


class Session:
    def __init__(self, seed, fixed):
        self.model = SentenceVAE()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=4e-3)
        self.noise = torch.Generator().manual_seed(seed + 2)
        self.step_no, self.fixed = 0, fixed

    def train_step(self, ids):
        eps = torch.randn(ids.size(0), 8, generator=self.noise)
        logits, mean, logv = self.model(ids, eps)
        nll = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        kl = -0.5 * (1 + logv - mean.pow(2) - logv.exp()).sum(1).mean() / ids.size(1)
        loss = nll + kl_anneal(self.step_no) * 0.3 * kl
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.step_no += 1
        return loss.item()

    def save_checkpoint(self):
        ckpt = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "noise": self.noise.get_state()}
        if self.fixed:
            ckpt["step"] = self.step_no
        return copy.deepcopy(ckpt)

    def load_checkpoint(self, ckpt):
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(copy.deepcopy(ckpt["optimizer"]))
        self.noise.set_state(ckpt["noise"])
        self.step_no = ckpt.get("step", 0)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    session = Session(seed, fixed)
    # fine-tuning continues from a warm schedule
    session.step_no = 200
    return {"model": session.model, "optimizer": session.optimizer, "data": list(sentences(512, seed).split(32)),
            "step": session.train_step, "save": session.save_checkpoint, "load": session.load_checkpoint}
