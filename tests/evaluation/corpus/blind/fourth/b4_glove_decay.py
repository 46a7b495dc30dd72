"""Topic classification on top of pretrained word vectors that must stay as they are."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_glove_decay",
    "source": "own experience; forum pattern 'zeroed gradients but weight decay still moves the embedding'",
    "roots": ["frozen-parameters-change"],
    "description": "the word vectors are 'frozen' by zeroing their gradient, but AdamW's weight decay shrinks them every step",
    "location": "vectors.weight",
    "shows_in": "wiring",
}


class TopicNet(nn.Module):
    def __init__(self, pretrained, topics=5):
        super().__init__()
        self.vectors = nn.Embedding.from_pretrained(pretrained.clone(), freeze=False)
        self.conv = nn.Conv1d(pretrained.size(1), 32, 3, padding=1)
        self.out = nn.Linear(32, topics)

    def forward(self, ids):
        h = F.relu(self.conv(self.vectors(ids).transpose(1, 2)))
        return self.out(h.amax(-1))


def make_step(model, optimizer, zero_by_hand):
    def step(batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch["ids"]), batch["topic"])
        loss.backward()
        if zero_by_hand:
            model.vectors.weight.grad.zero_()
        optimizer.step()
        return loss
    return step


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, dim = 80, 20
    glove = torch.randn(vocab, dim)
    preference = torch.rand(5, vocab) ** 4
    topic = torch.randint(0, 5, (256,))
    ids = torch.multinomial(preference[topic], 14, replacement=True)
    data = [{"ids": ids[i:i + 32], "topic": topic[i:i + 32]} for i in range(0, 256, 32)]
    model = TopicNet(glove)
    if fixed:
        model.vectors.weight.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    step = make_step(model, optimizer, zero_by_hand=not fixed)
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
