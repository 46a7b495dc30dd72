"""A suspicion is tested by re-runs with its cures, and becomes a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..causes import Cause, Stage, Suspicion
from ..records.intervention import Cure
from ..records.verdict import Finding, Rerun, Symptom
from .reruns import Reruns


def try_cures_of(cause: Cause, suspicion: Suspicion, runs: Reruns) -> tuple[Cure | None, list[Rerun]]:
    """The cure that heals, if any, and all re-runs. Of several rates that heal, the one that works best is advised."""
    reruns: list[Rerun] = []
    healing: dict[str, tuple[Cure, Rerun]] = {}
    for cure in suspicion.cures:
        rerun = runs(cure)
        if rerun is None:
            continue
        heals = rerun.healthy or rerun.confirms
        reruns.append(rerun)
        if heals:
            healing[rerun.cure] = (cure, rerun)
            if cause.stage is not Stage.RATES:
                break
    if not healing:
        return None, reruns
    best = runs.best([rerun for _, rerun in healing.values()])
    return healing[best.cure][0], [replace(r, confirms=r.cure == best.cure) for r in reruns]


def finding_of(
    cause: Cause,
    suspicion: Suspicion,
    symptom: Symptom,
    certainty: str,
    reruns: Sequence[Rerun] = (),
    healed: Cure | None = None,
) -> Finding:
    """A suspicion as a finding, with the re-runs that tested it."""
    return Finding(
        cause=cause.name,
        statement=suspicion.statement,
        certainty=certainty,  # type: ignore[arg-type]
        why=suspicion.why,
        evidence=suspicion.evidence,
        places=suspicion.places,
        reruns=tuple(sorted(reruns, key=lambda r: not r.healthy)),
        fix=(healed.fix if healed is not None else None) or suspicion.fix,
        not_this=suspicion.not_this,
        symptom=symptom,
        about=suspicion.about or _named(suspicion.cures),
        rank=cause.rank,
    )


def _named(cures: Sequence[Cure]) -> tuple[str, ...]:
    """The parameters that the first cure changes."""
    names = cures[0].options.get("names", ()) if cures else ()
    return tuple(names) if isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names) else ()
