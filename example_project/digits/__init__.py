"""A small digits classifier: `data.py` draws the images, `model.py` is the network, `train.py` trains it."""
