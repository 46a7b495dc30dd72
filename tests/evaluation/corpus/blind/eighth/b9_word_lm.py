"""LSTM word language model, after the classic PyTorch example."""
import math
import torch
import torch.nn as nn

META = {"id": "b9_word_lm", "source": "forks of pytorch/examples word_language_model; forum threads on weight tying",
        "roots": ["tied-weights-broken"], "checks": [],
        "description": "--tied is asked for, but the decoder gets a copy of the embedding matrix instead of sharing it",
        "location": "RNNModel.__init__"}


class RNNModel(nn.Module):
    """Container module with an encoder, a recurrent module, and a decoder."""

    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.1, tie_weights=False, fixed=False):
        super().__init__()
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=0.0)
        self.decoder = nn.Linear(nhid, ntoken)
        self.init_weights()
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            if fixed:
                self.decoder.weight = self.encoder.weight
            else:
                self.decoder.weight = nn.Parameter(self.encoder.weight.detach().clone())

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return decoded.view(-1, self.ntoken), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def make_corpus(ntoken, length, seed):
    g = torch.Generator().manual_seed(seed + 17)
    succ = torch.stack([torch.randperm(ntoken, generator=g)[:3] for _ in range(ntoken)])
    probs = torch.tensor([0.8, 0.15, 0.05])
    picks = torch.multinomial(probs, length, replacement=True, generator=g)
    ids = [0]
    for i in range(length - 1):
        ids.append(int(succ[ids[-1], picks[i]]))
    return torch.tensor(ids)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ntokens, bptt, bsz = 60, 12, 20
    source = batchify(make_corpus(ntokens, 5000, seed), bsz)
    data = [get_batch(source, i, bptt) for i in range(0, source.size(0) - 2, bptt)]
    model = RNNModel(ntokens, 64, 64, 1, tie_weights=True, fixed=fixed)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(batch):
        model.train()
        inputs, targets = batch
        hidden = model.init_hidden(inputs.size(1))
        optimizer.zero_grad()
        output, hidden = model(inputs, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
