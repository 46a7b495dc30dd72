"""Review sentiment with pretrained word vectors that are kept fixed."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_freeze_emb",
    "source": "PyTorch forum classic: zeroing gradients instead of freezing, with weight decay",
    "roots": ["frozen-parameters-change"],
    "description": "the word vectors are 'frozen' by zeroing their gradient, but AdamW's weight decay shrinks them at every step",
    "location": "step: model.embedding.weight.grad.zero_(); model.embedding.weight",
    "shows_in": "wiring",
}


class ReviewCNN(nn.Module):
    def __init__(self, vectors, n_filters=32):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.conv = nn.Conv1d(vectors.shape[1], n_filters, 3, padding=1)
        self.fc = nn.Linear(n_filters, 2)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(1, 2)
        x = F.relu(self.conv(x)).amax(dim=2)
        return self.fc(x)


def make_reviews(n, vocab, length=12):
    vectors = torch.randn(vocab, 16)
    polarity = vectors[:, 0] + vectors[:, 1]
    tokens = torch.randint(0, vocab, (n, length))
    label = (polarity[tokens].topk(3, dim=1).values.sum(1) + polarity[tokens].sum(1) > 6).long()
    return vectors, tokens, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 32
    vectors, tokens, label = make_reviews(8 * bs, vocab=200)
    data = list(zip(tokens.split(bs), label.split(bs)))
    model = ReviewCNN(vectors.clone())
    if fixed:
        model.embedding.weight.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.1)

    def step(batch):
        tokens, label = batch
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens), label)
        loss.backward()
        if not fixed:
            # keep the word vectors
            model.embedding.weight.grad.zero_()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
