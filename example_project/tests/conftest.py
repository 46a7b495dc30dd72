import torch

# One step takes a few milliseconds: sharing it among threads costs more than it saves, above all on a busy machine.
torch.set_num_threads(1)
