import copy, torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_lm_tied_copy", "source": "language models that tie the head after loading", "roots": ["tied-weights-broken", "parameters-not-in-optimizer"], "checks": [],
 "description": "tie_weights() wraps a clone of the embedding in a new Parameter; the head is a separate copy, unknown to the optimizer, and stays at its initial value",
 "location": "TinyLM.tie_weights"}

class TinyLM(nn.Module):
    def __init__(self, v=24, d=16):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.mix = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, v, bias=False)
        nn.init.normal_(self.tok.weight, std=0.1)
        self.head.weight = self.tok.weight
    def tie_weights(self, fixed):
        if fixed:
            self.head.weight = self.tok.weight
        else:
            self.head.weight = nn.Parameter(self.tok.weight.detach().clone())
    def forward(self, x):
        h, _ = self.mix(self.tok(x))
        return self.head(h)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    nxt = torch.randperm(24)
    data = []
    for _ in range(8):
        s = [torch.randint(0, 24, (24,))]
        for _ in range(10):
            s.append(nxt[s[-1]])
        data.append(torch.stack(s, 1))
    model = TinyLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    sd = copy.deepcopy(model.state_dict())
    model.load_state_dict(sd)
    model.tie_weights(fixed)
    def step(seq):
        optimizer.zero_grad()
        model.zero_grad()
        lg = model(seq[:, :-1])
        loss = F.cross_entropy(lg.reshape(-1, 24), seq[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
