"""What torch functions do to their arguments, by their names: signals look out for them, and cures act on the same."""

from __future__ import annotations

from typing import Any

from ...records.loss_functions import DIFFERENCES

#: They multiply their first argument with weights.
WEIGHING = {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "matmul",
    "__matmul__", "mm", "addmm", "bmm", "bilinear", "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell",
    "rnn_tanh_cell", "rnn_relu_cell", "multi_head_attention_forward", "einsum",
}  # fmt: skip
#: They compare an output with its target.
COMPARING = {*DIFFERENCES, "gaussian_nll_loss", "sub", "__sub__", "rsub", "__rsub__"}
#: They also go by names with an underscore at the end.
DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout",
            "feature_alpha_dropout"}  # fmt: skip
#: Called with a parameter itself outside of the model, these make a penalty.
PENALTIES = {"norm", "abs", "pow", "__pow__", "square", "vector_norm", "linalg_vector_norm"}
#: A loss scaler takes its factor out of the gradients.
UNSCALE = "_amp_foreach_non_finite_check_and_unscale_"


def writes(func: Any) -> bool:
    """Whether it writes into its first argument, as `mul_` and `_foreach_mul_` do."""
    name: str = getattr(func, "__name__", "")
    return (name.endswith("_") and not name.endswith("__")) or name in ("__imul__", "__itruediv__")
