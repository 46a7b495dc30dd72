"""Spoken digit strings: convolutional front end, BiLSTM and CTC loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_ctc_digits",
    "source": "CASES.md J, ctc-loss-with-variable-input-lengths-produces-nan-values/43476",
    "roots": ["invalid-labels", "unstable-operation"],
    "description": "after subsampling by 4 some utterances have fewer frames than CTC needs for their transcript: infinite loss",
    "location": "F.ctc_loss: input_lengths below the needed target length in data[3]",
    "shows_in": "nan",
}

N_DIGITS, BLANK = 8, 0


class Acoustic(nn.Module):
    def __init__(self, stride, n_mels=12, hidden=40):
        super().__init__()
        self.stride = stride
        self.conv = nn.Conv1d(n_mels, 32, 5, stride=stride, padding=2)
        self.rnn = nn.LSTM(32, hidden, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, N_DIGITS + 1)

    def forward(self, mel, frames):
        h = F.relu(self.conv(mel.transpose(1, 2))).transpose(1, 2)
        h, _ = self.rnn(h)
        lengths = torch.div(frames - 1, self.stride, rounding_mode="floor") + 1
        return self.out(h).log_softmax(-1), lengths


def utterance(digits, per_digit, g, proto, total):
    mel = torch.zeros(total, 12)
    for i, d in enumerate(digits):
        mel[i * per_digit:(i + 1) * per_digit] = proto[d - 1]
    return mel + 0.1 * torch.randn(mel.shape, generator=g)


def make_data(g, n_batches=6, batch=12, total=24):
    proto = torch.randn(N_DIGITS, 12, generator=g)
    data = []
    for b in range(n_batches):
        mels, targets, tlen, frames = [], [], [], []
        for i in range(batch):
            fast = b == 3 and i < 2
            n = 5
            digits = torch.randperm(N_DIGITS, generator=g)[:n] + 1
            per = 3 if fast else 4
            mels.append(utterance(digits, per, g, proto, total))
            targets.append(digits)
            tlen.append(n)
            frames.append(n * per)
        data.append((torch.stack(mels), torch.tensor(frames), torch.cat(targets), torch.tensor(tlen)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 11)
    data = make_data(g)
    model = Acoustic(stride=2 if fixed else 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        mel, frames, target, target_len = batch
        logp, lengths = model(mel, frames)
        return F.ctc_loss(logp.transpose(0, 1), target, lengths, target_len, blank=BLANK)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
