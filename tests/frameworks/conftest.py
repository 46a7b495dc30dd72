"""Keras reads which backend it has when it is imported."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
