"""Dysphonia detection: several recordings per patient, 24 acoustic measures each."""
import random
import torch
import torch.nn as nn

META = {"id": "t9_voice_patients", "source": "medical machine learning paper's repository, recordings split at random",
        "roots": ["data-leakage"], "checks": ["generalizes"],
        "description": "recordings of the same patients, which hardly differ, are in training and in validation",
        "location": "build: the split shuffles recordings instead of patients"}

N_PATIENTS, N_RECORDINGS, N_MEASURES = 1600, 6, 24


class Recording:
    __slots__ = ("patient", "measures", "sick")

    def __init__(self, patient, measures, sick):
        self.patient, self.measures, self.sick = patient, measures, sick


def record_all(seed):
    g = torch.Generator().manual_seed(seed + 400)
    signs = torch.zeros(N_MEASURES)
    signs[:8] = torch.tensor([1.0, -1.0, 0.9, 0.8, -0.9, 0.8, 1.0, -0.8])
    out = []
    for p in range(N_PATIENTS):
        sick = p % 2
        voice = torch.randn(N_MEASURES, generator=g) + (2 * sick - 1) * 0.6 * signs
        for _ in range(N_RECORDINGS):
            out.append(Recording(p, voice + 0.06 * torch.randn(N_MEASURES, generator=g), float(sick)))
    return out


def collate(recordings, size):
    batches = []
    for i in range(0, len(recordings), size):
        part = recordings[i:i + size]
        batches.append((torch.stack([r.measures for r in part]), torch.tensor([r.sick for r in part])))
    return batches


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_MEASURES, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed)
    recordings = record_all(seed)
    if fixed:
        patients = list(range(N_PATIENTS))
        rnd.shuffle(patients)
        held_out = set(patients[:160])
        train = [r for r in recordings if r.patient not in held_out]
        val = [r for r in recordings if r.patient in held_out]
        rnd.shuffle(train)
    else:
        rnd.shuffle(recordings)
        train, val = recordings[480:], recordings[:480]
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.12)
    bce = nn.BCEWithLogitsLoss()
    return {"model": model, "optimizer": optimizer, "data": collate(train, 40), "val": collate(val, 48),
            "loss": lambda m, batch: bce(m(batch[0]), batch[1])}
