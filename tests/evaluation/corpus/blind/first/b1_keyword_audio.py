"""Keyword spotting on log-mel frames."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_keyword_audio",
    "source": "PyTorch forum classic: zero_grad between backward and step",
    "roots": ["gradients-cleared-before-step"],
    "description": "zero_grad() is called after backward() and before step(), so the optimizer sees no gradient",
    "location": "step: order of backward, zero_grad and step",
    "shows_in": "one-batch",
}


class KeywordNet(nn.Module):
    def __init__(self, n_mels=16, n_words=6):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, 32, 5, padding=2)
        self.conv2 = nn.Conv1d(32, 32, 5, padding=2, groups=4)
        self.norm = nn.GroupNorm(4, 32)
        self.fc = nn.Linear(32, n_words)

    def forward(self, mel):
        x = F.relu(self.conv1(mel))
        x = F.max_pool1d(x, 2)
        x = F.relu(self.norm(self.conv2(x)))
        return self.fc(x.mean(dim=2))


def make_words(n, n_mels=16, frames=24, n_words=6):
    templates = torch.randn(n_words, n_mels, 8)
    word = torch.randint(0, n_words, (n,))
    mel = 0.5 * torch.randn(n, n_mels, frames)
    for i in range(n):
        start = int(torch.randint(0, frames - 8, (1,)))
        mel[i, :, start:start + 8] += templates[word[i]]
    return mel, word


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mel, word = make_words(8 * 32)
    data = [{"mel": m, "word": w} for m, w in zip(mel.split(32), word.split(32))]
    model = KeywordNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    running = {"loss": 0.0, "n": 0}

    def step(batch):
        if fixed:
            optimizer.zero_grad()
        output = model(batch["mel"])
        loss = F.cross_entropy(output, batch["word"])
        loss.backward()
        running["loss"] += loss.item()
        running["n"] += 1
        if not fixed:
            optimizer.zero_grad()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
