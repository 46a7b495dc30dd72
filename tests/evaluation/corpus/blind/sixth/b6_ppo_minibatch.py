"""PPO update on a stored rollout (discrete actions), one optimizer step per minibatch."""
import torch
import torch.nn as nn

META = {
    "id": "b6_ppo_minibatch",
    "source": "PPO implementations with per-minibatch advantage normalisation combined with gradient accumulation (cleanrl / RLHF discussions)",
    "roots": ["batch-mixing", "loss-reduction"],
    "checks": ["accumulates_exactly"],
    "description": "Advantages are standardised inside the loss over whatever samples happen to be in the minibatch, so splitting a minibatch changes the gradient.",
    "location": "PPOLoss.__call__: adv = (adv - adv.mean()) / (adv.std() + 1e-8)",
}


class ActorCritic(nn.Module):
    def __init__(self, obs=6, act=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.pi = nn.Linear(48, act)
        self.v = nn.Linear(48, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class PPOLoss:
    def __init__(self, clip=0.2, vf=0.5, ent=0.001, norm_adv=True):
        self.clip, self.vf, self.ent, self.norm_adv = clip, vf, ent, norm_adv

    def __call__(self, model, batch):
        dist, value = model(batch["obs"])
        adv = batch["adv"]
        if self.norm_adv:
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        ratio = torch.exp(dist.log_prob(batch["act"]) - batch["logp"])
        pg = -torch.min(adv * ratio, adv * ratio.clamp(1 - self.clip, 1 + self.clip)).mean()
        vloss = 0.5 * (value - batch["ret"]).pow(2).mean()
        return pg + self.vf * vloss - self.ent * dist.entropy().mean()


def rollout(n_batches, size, gen):
    w = torch.randn(6, 4, generator=gen)
    out = []
    for _ in range(n_batches):
        obs = torch.randn(size, 6, generator=gen)
        act = torch.randint(0, 4, (size,), generator=gen)
        q = obs @ w
        ret = 2.0 * torch.tanh(q).mean(1) + 1.0
        adv = 2.0 * (q.gather(1, act[:, None]).squeeze(1) - q.mean(1)) + 0.5
        logp = torch.full((size,), -1.3862944)
        out.append({"obs": obs, "act": act, "adv": adv, "ret": ret, "logp": logp})
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = rollout(8, 32, torch.Generator().manual_seed(seed))
    if fixed:
        adv = torch.cat([b["adv"] for b in data])
        for b in data:
            b["adv"] = (b["adv"] - adv.mean()) / (adv.std() + 1e-8)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-5)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": PPOLoss(norm_adv=not fixed)}
