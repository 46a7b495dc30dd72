"""Word-level LSTM language model trained with plain SGD and clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_word_lm_clip",
    "source": "PyTorch forum classic: clip_grad_norm_ called after optimizer.step()",
    "roots": ["bad-gradient-clipping"],
    "description": "gradients are clipped only after the step was taken",
    "location": "step: clip_grad_norm_ after optimizer.step()",
    "shows_in": "wiring",
}


class LSTMLM(nn.Module):
    def __init__(self, vocab, dim=32, hidden=48):
        super().__init__()
        self.drop = nn.Dropout(0.05)
        self.encoder = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.decoder = nn.Linear(hidden, vocab)
        self.init_weights()

    def init_weights(self):
        nn.init.uniform_(self.encoder.weight, -0.5, 0.5)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, tokens):
        out, _ = self.rnn(self.drop(self.encoder(tokens)))
        return self.decoder(self.drop(out))


def make_corpus(n, vocab):
    follow = torch.stack([torch.randperm(vocab), torch.randperm(vocab)])
    out = [0]
    for _ in range(n - 1):
        which = 0 if torch.rand(()) < 0.95 else 1
        out.append(int(follow[which, out[-1]]))
    return torch.tensor(out)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, bptt, bs, n_batches = 40, 15, 16, 8
    corpus = make_corpus(n_batches * bs * (bptt + 1), vocab)
    data = [(c[:, :-1], c[:, 1:]) for c in corpus.view(n_batches, bs, bptt + 1)]
    model = LSTMLM(vocab)
    lr, clip = 8.0, 0.25
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def step(batch):
        x, y = batch
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        if fixed:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        else:
            optimizer.step()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
