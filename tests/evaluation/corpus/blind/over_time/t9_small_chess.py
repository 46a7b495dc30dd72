import torch
from torch import nn

META = {"id": "t9_small_chess", "source": "board game research code, first hours of a long run with warm-up", "roots": [],
        "checks": ["generalizes"], "description": "healthy: an early stage, both losses are still on their way down", "location": ""}

SQUARES, PIECES = 16, 5
VALUE = torch.tensor([0.0, 1.0, -1.0, 3.0, -3.0])


def positions(n, g):
    board = torch.randint(0, PIECES, (n, SQUARES), generator=g)
    material = VALUE[board].sum(1)
    centre = VALUE[board[:, 5:7]].sum(1) + VALUE[board[:, 9:11]].sum(1)
    fork = ((board[:, 0] == 3) & (board[:, 5] == 2)).float() * 3
    score = material + centre + fork
    return board, (score > 2).long() + (score > -2).long()


class BoardTransformer(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.piece = nn.Embedding(PIECES, d)
        self.square = nn.Parameter(0.3 * torch.randn(SQUARES, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 3)

    def forward(self, board):
        h = self.encoder(self.piece(board) + self.square)
        return self.head(self.norm(h.mean(1)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 64)
    x, y = positions(12800, g)
    vx, vy = positions(512, g)
    model = BoardTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 40))
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler,
            "data": list(zip(x.split(32), y.split(32))), "val": list(zip(vx.split(64), vy.split(64))),
            "loss": lambda m, b: nn.functional.cross_entropy(m(b[0]), b[1])}
