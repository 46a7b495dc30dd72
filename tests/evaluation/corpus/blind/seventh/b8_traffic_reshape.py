import torch, torch.nn as nn
META = {"id": "b8_traffic_reshape", "source": "spatio-temporal traffic forecasting, (B,T,N) to (T,B,N)", "roots": ["batch-mixing"], "checks": [],
 "description": "view(T, B, N) is used where transpose(0, 1) was meant: the recurrent network runs over time steps of different samples",
 "location": "TrafficRNN.forward"}

class TrafficRNN(nn.Module):
    def __init__(self, sensors=6, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.rnn = nn.LSTM(sensors, 40)
        self.out = nn.Linear(40, sensors)
    def forward(self, x):
        B, T, N = x.shape
        seq = x.transpose(0, 1) if self.fixed else x.view(T, B, N)
        _, (h, _) = self.rnn(seq)
        return self.out(h[-1])

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mix = torch.randn(6, 6) * 0.4
    def batch():
        ph, f = 6.28 * torch.rand(64, 1, 6), 0.3 + 0.3 * torch.rand(64, 1, 1)
        t = torch.arange(13.)[None, :, None]
        s = torch.sin(f * t + ph)
        return s[:, :12].contiguous(), s[:, 12] + s[:, 11] @ mix
    data = [batch() for _ in range(8)]
    model = TrafficRNN(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    def loss(model, b):
        return nn.functional.mse_loss(model(b[0]), b[1])
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val_data": [batch(), batch()]}
