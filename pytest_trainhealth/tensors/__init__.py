"""Small things to know about tensors, batches and modules. Torch, but no record of a run."""
