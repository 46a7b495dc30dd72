"""Small facts about tensors, batches and modules. Uses torch, but no records of a run."""
