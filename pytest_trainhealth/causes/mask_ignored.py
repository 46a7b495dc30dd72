"""mask-ignored: padding changes the output at real positions

What happens
    Sequences of different lengths are padded, and a mask, their lengths or a `padding_idx` shows where they end. It is
    not used, or not everywhere: a mean over all positions, the last position of a recurrent net, attention without the
    mask. A sample's output then depends on the longest one in its batch. Or the loss counts the padding: it falls by
    predicting that nothing follows nothing.

How severe it is
    High: results depend on how long the others in the batch are.

How it is recognised
    More padding is added to sequences that have some, marked the same way, and the model is called again; where it
    takes only one length, the padding is embedded as another token. Where a mask or lengths have no influence on any
    output, and values like any others come after the end of a sequence, these are exchanged. Outputs of real positions,
    or of the whole sequence, change. Or the loss has a gradient at all positions after the end, and the targets there
    are one value. A model of an installed package is asked with another mask, too: if its padding matters as it was
    called, and no longer does with the mask that its tokens need, whoever called it has left the mask out or given it
    the wrong way round. Re-runs leave the padding out of labels that the model is given, and give it the right mask.

How to fix it
    Give the mask to every layer that looks across positions (`src_key_padding_mask`, `key_padding_mask`), pack what
    recurrent nets read (`pack_padded_sequence`), and pool over real positions only: `(x * mask[..., None]).sum(1) /
    mask.sum(1, keepdim=True)`. In the loss, `ignore_index=`, or a mean over real positions. Check the meaning of the
    mask: torch's padding masks are True for padding, most others for real positions. Labels that are given to a model
    are -100 wherever there is no token.

What not to do
    Sorting by length or longer batches: they hide how much padding there is.

How to prevent it
    Hand the mask to every layer that looks across positions, pool over real positions only, and test one sample alone
    against the same sample padded; `uses_its_input` does.

When this is wrong
    Models for which the length of the batch means something. Where neither a mask nor lengths are given, only attention
    to the `padding_idx` of an embedding is reported: sums and recurrent nets may count on its zeros. A loss may count
    the first position after the end, where a model has to say that a sequence ends; all of them, where the token that
    fills up the rows also ends them; and an autoencoder may have to restore the padding, too.
"""

from __future__ import annotations

from .. import wording
from ..records.intervention import Cure
from ..records.loss_functions import WITH_CLASSES
from ..records.probes import PaddingRecord
from ..records.symptoms import NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 5
CURABLE = False
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU)

_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    found = [r for r in (trace.probe.paddings if trace.probe is not None else []) if r.made_by == "user"]
    if not found or (trace.probe is not None and trace.probe.mask_edits):
        return None  # a mask that is written to is not ignored
    record = found[0]
    if record.in_loss:
        return _in_the_loss(record)
    if record.misused:
        return _misused(record)
    evidence = [Evidence(_seen(record), record.share)]
    if record.operation:
        evidence.append(Evidence(f"it first shows after {record.operation}()", place=record.place))
    if record.unused:
        changed = "inverted" if record.known_from == "mask" else "changed"
        evidence.append(Evidence(f"with {record.mask} {changed}, no output changes: not used at all"))
    spite = "" if record.known_from == "padding_idx" else f", despite {record.mask}"
    return Suspicion(
        statement=f"padding of {record.padded} changes the output{spite}",
        evidence=tuple(evidence),
        why=_why(record),
        places=(record.place,) if record.place is not None else (),
        fix=_fix(record),
        not_this="sorting by length: it hides how much padding there is",
    )


def _in_the_loss(record: PaddingRecord) -> Suspicion:
    classes = record.function in WITH_CLASSES and record.filling is not None
    fix = Fix("take the mean over real positions only:", ("loss = (error * real).sum() / real.sum()",))
    cures: tuple[Cure, ...] = ()
    if record.labels:
        fix = Fix("set the labels of padding to -100, which the loss leaves out:", (_without_padding(record),))
        cures = (_not_counted(record),)
    elif classes:
        fix = Fix(
            "leave the padding out of the loss:", (f"F.{record.function}(..., ignore_index={record.filling:.0f})",)
        )
    known = {"padding_idx": "the padding_idx of the embedding", "pad_token_id": "the pad_token_id of the model"}.get(
        record.known_from, record.mask
    )
    return Suspicion(
        statement=f"{f'{record.function}()' if record.function else 'the loss'} counts the padding of {record.padded}",
        evidence=(
            Evidence(
                f"{wording.count(record.counted)} of {wording.count(record.positions)} positions with a gradient come "
                f"after the end of their sequence, as {known} shows; every target there is {record.filling:g}",
                record.share,
                record.place,
            ),
        ),
        why="the loss is a mean over all positions, padding included: predicting it is easy, and hides the rest",
        places=(record.place,) if record.place is not None else (),
        fix=fix,
        not_this="longer training: the loss looks lower the more padding there is",
        cures=cures,
    )


def _without_padding(record: PaddingRecord) -> str:
    if record.known_from == "mask":
        return f"{record.labels} = {record.labels}.masked_fill({record.mask} == 0, -100)"
    return f"{record.labels} = {record.labels}.masked_fill({record.padded} == {record.filling:.0f}, -100)"


def _not_counted(record: PaddingRecord) -> Cure:
    mask = record.mask if record.known_from == "mask" else ""
    options = {"labels": record.labels, "tokens": record.padded, "filling": record.filling, "mask": mask}
    return Cure("padding_not_counted", "padding left out of the labels", options)


def _misused(record: PaddingRecord) -> Suspicion:
    """The caller of a model of a package is to blame: with the other mask, the model does as it should."""
    missing = record.misused == "missing"
    rows = f"{record.rows} sequences of {record.padded} are padded"
    if record.share:
        seen = (
            f"{rows}; embedding their padding as another token changes their outputs by {wording.share(record.share)} "
            f"of what another sample would, and by nothing with {record.mask} "
            f"{'as it has to be' if missing else 'inverted'}"
        )
    else:
        seen = f"{rows}; other tokens change outputs at no other position, and do with {record.mask} inverted"
    marks = f"{record.mask} = ({record.padded} != pad_token_id).long()"
    return Suspicion(
        statement=f"{record.mask} does not mark the padding of {record.padded}, which is read"
        if missing
        else f"{record.mask} is the wrong way round",
        evidence=(Evidence(seen, record.share),),
        why="nothing tells the model which tokens are padding" if missing else "it is 1 for padding, 0 for real tokens",
        fix=Fix(f"give {record.model} the mask of its tokens, 1 where they are real:", (marks,)),
        not_this="sorting by length: it hides how much padding there is",
        cures=(Cure("right_mask", f"the right {record.mask}", {"tokens": record.padded, "mask": record.mask}),),
    )


def _seen(record: PaddingRecord) -> str:
    marked = {"mask": "masked", "lengths": f"after the end given by {record.mask}"}.get(
        record.known_from, "padding_idx"
    )
    if record.longer:
        how = f"padding them to {2 * record.length} positions instead of {record.length}, all {marked}, changes"
    elif record.stale:
        how = f"other values {'where they are masked' if record.known_from == 'mask' else marked} change"
    else:
        how = "embedding their padding as another token changes"
    return (
        f"{record.rows} sequences of {record.padded} are padded; {how} their outputs by {wording.share(record.share)} "
        "of what another sample would"
    )


def _why(record: PaddingRecord) -> str:
    if record.unused:
        return f"{record.mask} {'are' if record.known_from == 'lengths' else 'is'} not used"
    return f"{record.operation or 'something'}{'()' if record.operation else ''} includes padding"


def _fix(record: PaddingRecord) -> Fix:
    if record.operation in _RECURRENT:
        return Fix(
            f"pack what {record.operation}() reads, or take the state at the last real position",
            (f"pack_padded_sequence(embedded, {_lengths(record)}, batch_first=True, enforce_sorted=False)",),
        )
    if record.known_from == "padding_idx" or ("attention" in record.operation and record.known_from == "lengths"):
        mask = f"src_key_padding_mask={_nothing(record)}"
        scores = f"scores.masked_fill({_nothing(record)}[:, None], -torch.inf)"
        return Fix(
            f"keep the attention away from the padding of {record.padded}",
            (mask if "attention" in record.operation else scores,),
        )
    return Fix(
        f"give {record.mask} to every layer that looks across positions, and pool over real positions only",
        ("pooled = (hidden * real[..., None]).sum(1) / real.sum(1, keepdim=True)",),
    )


def _lengths(record: PaddingRecord) -> str:
    if record.known_from == "padding_idx":
        return f"({record.padded} != padding_idx).sum(1)"
    return record.mask if record.known_from == "lengths" else f"{record.mask}.sum(1)"


def _nothing(record: PaddingRecord) -> str:
    if record.known_from == "lengths":
        return f"(torch.arange({record.padded}.shape[1]) >= {record.mask}[:, None])"
    return f"({record.padded} == padding_idx)"
