"""Speaker embedding network and a separate classifier, each with its own optimizer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_speaker_opts",
    "source": "CASES.md stackoverflow 53332663 (missing API call)",
    "roots": ["missing-optimizer-step"],
    "description": "the embedding network's optimizer is zeroed but never stepped",
    "location": "opt_embed",
    "shows_in": "one-batch",
}


class SpeakerModel(nn.Module):
    def __init__(self, speakers=16):
        super().__init__()
        self.embed = nn.Sequential(
            nn.Conv1d(12, 24, 5, padding=2), nn.ReLU(),
            nn.Conv1d(24, 4, 5, padding=2), nn.ReLU(),
        )
        self.classifier = nn.Linear(4, speakers)

    def forward(self, mel):
        return self.classifier(self.embed(mel).mean(-1))


class SpeakerTrainer:
    def __init__(self, model, fixed):
        self.model, self.fixed = model, fixed
        self.opt_embed = torch.optim.Adam(model.embed.parameters(), lr=5e-3)
        self.opt_cls = torch.optim.Adam(model.classifier.parameters(), lr=5e-2)

    def train_step(self, batch):
        self.model.train()
        self.opt_embed.zero_grad()
        self.opt_cls.zero_grad()
        loss = F.cross_entropy(self.model(batch["mel"]), batch["speaker"])
        loss.backward()
        if self.fixed:
            self.opt_embed.step()
        self.opt_cls.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    speaker = torch.randint(0, 16, (256,))
    voice = torch.randn(16, 12, 1)
    rhythm = torch.sin(torch.arange(30).float() * 0.7)
    mel = voice[speaker] * rhythm + 0.4 * torch.randn(256, 12, 30)
    data = [{"mel": mel[i:i + 32], "speaker": speaker[i:i + 32]} for i in range(0, 256, 32)]
    trainer = SpeakerTrainer(SpeakerModel(), fixed)
    return {"model": trainer.model, "optimizer": [trainer.opt_embed, trainer.opt_cls],
            "data": data, "step": trainer.train_step}
