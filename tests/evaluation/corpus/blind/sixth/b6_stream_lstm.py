"""Truncated back-propagation through time over a continuous sensor stream."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_stream_lstm",
    "source": "word_language_model style loops that carry `hidden` between batches; checkpoint has weights and optimizer only",
    "roots": ["checkpoint-incomplete"],
    "checks": ["resumes_exactly"],
    "description": "The carried LSTM state lives on the trainer and is not in the checkpoint, so the first windows after a resume start from zeros.",
    "location": "StreamTrainer.checkpoint: no entry for self.hidden",
}


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state):
        out, state = self.lstm(x, state)
        return self.head(out).squeeze(-1), state


class StreamTrainer:
    def __init__(self, full):
        self.model = Forecaster()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=5e-3)
        self.hidden = None
        self.step_count = 0
        self.full = full

    def step(self, batch):
        x, y = batch
        state = None
        if self.hidden is not None and self.hidden[0].size(1) == x.size(0):
            state = tuple(h.detach() for h in self.hidden)
        pred, self.hidden = self.model(x, state)
        loss = F.mse_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.step_count += 1
        return loss

    def checkpoint(self, path):
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.opt.state_dict(),
            "step": self.step_count,
        }
        if self.full and self.hidden is not None:
            state["hidden"] = [h.detach().clone() for h in self.hidden]
        torch.save(state, path)

    def restore(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["optimizer"])
        self.step_count = state["step"]
        if "hidden" in state:
            self.hidden = tuple(state["hidden"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_streams, window, n_windows = 16, 12, 8
    t = torch.arange(n_windows * window + 1).float()
    phase = torch.rand(n_streams, 1) * 6.28
    freq = 0.15 + 0.2 * torch.rand(n_streams, 1)
    series = torch.sin(freq * t + phase) + 0.4 * torch.sin(2.1 * freq * t)
    diff = torch.cat([torch.zeros(n_streams, 1), series[:, 1:] - series[:, :-1]], dim=1)
    feats = torch.stack([series, diff], dim=-1)
    data = []
    for k in range(n_windows):
        s = slice(k * window, (k + 1) * window)
        target = series[:, k * window + 1:(k + 1) * window + 1]
        data.append((feats[:, s].contiguous(), target.contiguous()))
    tr = StreamTrainer(full=fixed)
    return {"model": tr.model, "optimizer": tr.opt, "data": data, "step": tr.step, "save": tr.checkpoint, "load": tr.restore}
