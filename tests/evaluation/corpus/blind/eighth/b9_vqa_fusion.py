import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_vqa_fusion", "source": "multimodal (VQA) baselines: late fusion concatenating the wrong pair",
        "roots": ["ignores-input", "unused-parameters", "disconnected-graph"], "checks": [],
        "description": "the fusion concatenates the image feature with its own projection; what the question encoder returns is dropped",
        "location": "VQAModel.forward"}


class QuestionEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, q):
        _, h = self.gru(self.embedding(q))
        return h.squeeze(0)


class ImageEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 24, 3, 2, 1), nn.ReLU())
        self.proj = nn.Linear(24 * 9, dim)

    def forward(self, img):
        return F.relu(self.proj(self.conv(img).flatten(1)))


class VQAModel(nn.Module):
    def __init__(self, vocab=12, dim=48, answers=6, fixed=False):
        super().__init__()
        self.img_enc, self.q_enc = ImageEncoder(dim), QuestionEncoder(vocab, dim)
        self.v_net, self.q_net = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.classifier = nn.Sequential(nn.Linear(2 * dim, 96), nn.ReLU(), nn.Linear(96, answers))
        self.fixed = fixed

    def forward(self, img, question):
        v = self.img_enc(img)
        q = self.q_enc(question)
        v_repr = torch.tanh(self.v_net(v))
        q_repr = torch.tanh(self.q_net(q if self.fixed else v))
        return self.classifier(torch.cat([v_repr, q_repr], dim=1))


def vqa_samples(n, seed):
    """Two coloured squares left/right; the question asks for the colour of one side."""
    g = torch.Generator().manual_seed(seed + 21)
    colors = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1.]])
    left, right = torch.randint(0, 6, (n,), generator=g), torch.randint(0, 6, (n,), generator=g)
    img = 0.15 * torch.randn(n, 3, 12, 12, generator=g)
    img[:, :, 4:8, 1:5] += colors[left][:, :, None, None]
    img[:, :, 4:8, 7:11] += colors[right][:, :, None, None]
    side = torch.randint(0, 2, (n,), generator=g)
    filler = torch.randint(4, 12, (n, 5), generator=g)
    filler[torch.arange(n), torch.randint(0, 5, (n,), generator=g)] = 1 + side
    return img, filler, torch.where(side == 0, left, right)


def train_epoch_step(model, optimizer, batch, log_softmax=nn.LogSoftmax(dim=1)):
    v, q, a = batch
    model.train()
    out = model(v, q)
    loss = F.nll_loss(log_softmax(out), a)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, q, a = vqa_samples(768, seed)
    data = list(zip(img.split(32), q.split(32), a.split(32)))
    model = VQAModel(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return {"model": model, "optimizer": optimizer, "data": data,
            "step": lambda b: train_epoch_step(model, optimizer, b)}
