import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "w10_speaker_grouped_emotion",
        "source": "speech emotion recognition with a speaker-independent split (IEMOCAP style)",
        "roots": [],
        "checks": [],
        "description": "Healthy: utterances come in groups by speaker with a strong speaker offset that the net removes by per-utterance statistics; the validation speakers are others.",
        "location": ""}

EMOTIONS, BANDS, FRAMES = 4, 8, 16


class Speakers:
    def __init__(self, seed):
        self.rs = np.random.RandomState(seed)
        self.contour = np.cumsum(self.rs.randn(EMOTIONS, BANDS, FRAMES), 2) * 0.35
        self.contour -= self.contour.mean(2, keepdims=True)

    def session(self, speakers, each):
        xs, ys = [], []
        for _ in range(speakers):
            voice = self.rs.randn(BANDS, 1) * 1.2
            e = self.rs.randint(0, EMOTIONS, each)
            xs.append(voice + self.contour[e] * self.rs.uniform(0.8, 1.2) + 0.8 * self.rs.randn(each, BANDS, FRAMES))
            ys.append(e)
        x, y = np.concatenate(xs), np.concatenate(ys)
        p = self.rs.permutation(len(x))
        return torch.tensor(x[p], dtype=torch.float32), torch.tensor(y[p])


class EmotionGRU(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(BANDS, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, EMOTIONS)

    def forward(self, x):
        x = (x - x.mean(2, keepdim=True)).transpose(1, 2)
        return self.fc(self.rnn(x)[0].mean(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    s = Speakers(seed + 405)
    x, y = s.session(40, 32)
    xv, yv = s.session(8, 30)
    m = EmotionGRU()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=4e-3),
            "data": [{"mel": a, "emo": b} for a, b in zip(x.split(32), y.split(32))],
            "val": [{"mel": a, "emo": b} for a, b in zip(xv.split(60), yv.split(60))],
            "loss": lambda net, b: F.cross_entropy(net(b["mel"]), b["emo"])}
