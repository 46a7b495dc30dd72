"""The `trainhealth` fixture: the checks as methods, for tests that decide when to check and what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ..settings import (
    ACCUMULATES_EXACTLY,
    DATA_IS_HEALTHY,
    EVALUATES_CLEANLY,
    GENERALIZES,
    GRADIENTS_FLOW,
    HISTORY_IS_HEALTHY,
    IMPROVES_ON,
    IS_REPRODUCIBLE,
    KEEPS_PRECISION,
    KEEPS_THROUGHPUT,
    LEARNS_FROM_DATA,
    MATCHES_BASELINE,
    OVERFITS_ONE_BATCH,
    RANKS_AGREE,
    RESUMES_EXACTLY,
    TRAINS_WITHOUT_NAN,
    USES_ITS_INPUT,
    read_keywords,
)
from ..settings import keywords as takes
from .items import request_for, test_of
from .outcomes import NOT_ENFORCED, NotJudged, misused
from .run_check import note_verdict, report_outcome, run_check
from .stash import OPTIONS, UNENFORCED, VERDICTS

if TYPE_CHECKING:
    from ..engine.shared_results import SharedResults
    from ..records.history import History
    from ..records.rate_range import RateRange
    from ..records.trace import Trace
    from ..records.verdict import Report, Verdict
    from ..training import Training

    Subject = Training | Callable[[], Training | None]


class TrainHealth:
    """Each check returns its verdict if it passes, and raises `Unhealthy` with the whole chart if it fails.

    Pass a `Training`, or a function that makes one: with a function, every run starts from scratch. Without
    `--trainhealth` the test is skipped and counted in the summary: it never passes silently.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._item: pytest.Item = request.node
        #: What every check that is called here accepts (`ignoring`).
        self._accepted: dict[str, Any] = {}

    def ignoring(self, causes: Mapping[str, str] | None = None, *, frozen: str | None = None) -> TrainHealth:
        """The same checks, which accept these causes or checks, each for a reason, as `ignore=` of a marker does.

        `frozen`: why parts of the model are frozen on purpose.
        """
        given = {"ignore": causes, "frozen": frozen}
        accepting = TrainHealth(self._request)
        accepting._accepted = self._accepted | {name: value for name, value in given.items() if value is not None}
        return accepting

    def overfits_one_batch(
        self,
        training: Subject,
        *,
        steps: int | None = None,
        ratio: float | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """The training memorises one batch."""
        __tracebackhide__ = True
        return self._check(OVERFITS_ONE_BATCH, training, steps=steps, ratio=ratio, budget=budget)

    def gradients_flow(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """Every trainable parameter gets a sane gradient, is held by an optimizer and moves."""
        __tracebackhide__ = True
        return self._check(GRADIENTS_FLOW, training, steps=steps, budget=budget)

    def trains_without_nan(  # noqa: PLR0913 - the keywords of its marker
        self,
        training: Subject,
        *,
        steps: int | None = None,
        sweep: bool | None = None,
        seeds: Iterable[int] | None = None,
        scales: Iterable[float] | None = None,
        batch_sizes: Iterable[int] | None = None,
        samples: Iterable[str] | None = None,
        precisions: Iterable[str] | None = None,
        lr_factors: Iterable[float] | None = None,
        search: bool | None = None,
        margin: bool | None = None,
        min_margin: float | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """Loss, gradients and parameters stay finite, also under the circumstances you request."""
        __tracebackhide__ = True
        requested = {"seeds": seeds, "scales": scales, "batch_sizes": batch_sizes, "samples": samples,
                 "precisions": precisions, "lr_factors": lr_factors}  # fmt: skip
        rest = {"steps": steps, "sweep": sweep, "search": search, "margin": margin, "min_margin": min_margin}
        return self._check(TRAINS_WITHOUT_NAN, training, **requested, **rest, budget=budget)

    def uses_its_input(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """Outputs depend on the inputs, and samples do not leak into one another."""
        __tracebackhide__ = True
        return self._check(USES_ITS_INPUT, training, steps=steps, budget=budget)

    def learns_from_data(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """Over several batches, the training learns something that only the inputs can tell it."""
        __tracebackhide__ = True
        return self._check(LEARNS_FROM_DATA, training, steps=steps, budget=budget)

    def data_is_healthy(
        self,
        training: Subject,
        *,
        max_batches: int | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """Values are finite, labels allowed, and no sample is in both data and val_data."""
        __tracebackhide__ = True
        return self._check(DATA_IS_HEALTHY, training, max_batches=max_batches, steps=steps, budget=budget)

    def keeps_throughput(  # noqa: PLR0913 - the keywords of its marker
        self,
        training: Subject,
        *,
        against: str | None = None,
        tolerance: float | None = None,
        max_data_wait: float | None = None,
        min_samples_per_second: float | None = None,
        max_step_ms: float | None = None,
        max_memory_growth: float | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """The step does not wait for its data, and is as fast as you require. Uses the test's `benchmark` fixture."""
        __tracebackhide__ = True
        return self._check(
            KEEPS_THROUGHPUT,
            training,
            against=against,
            tolerance=tolerance,
            max_data_wait=max_data_wait,
            min_samples_per_second=min_samples_per_second,
            max_step_ms=max_step_ms,
            max_memory_growth=max_memory_growth,
            steps=steps,
            budget=budget,
        )

    def is_reproducible(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """Two runs with the same seeds are the same, bit by bit."""
        __tracebackhide__ = True
        return self._check(IS_REPRODUCIBLE, training, steps=steps, budget=budget)

    def resumes_exactly(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """A run that is resumed from a checkpoint goes on as if it had not been interrupted."""
        __tracebackhide__ = True
        return self._check(RESUMES_EXACTLY, training, steps=steps, budget=budget)

    def keeps_precision(
        self,
        training: Subject,
        *,
        precisions: Iterable[str] | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """In bfloat16 or float16, the training follows itself in float32."""
        __tracebackhide__ = True
        return self._check(KEEPS_PRECISION, training, precisions=precisions, steps=steps, budget=budget)

    def accumulates_exactly(
        self,
        training: Subject,
        *,
        micro_batches: int | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """Several small batches give the gradient of one large one."""
        __tracebackhide__ = True
        return self._check(ACCUMULATES_EXACTLY, training, micro_batches=micro_batches, steps=steps, budget=budget)

    def evaluates_cleanly(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """Evaluation is deterministic, leaves no trace, and does not depend on its batch size."""
        __tracebackhide__ = True
        return self._check(EVALUATES_CLEANLY, training, steps=steps, budget=budget)

    def ranks_agree(
        self,
        training: Subject,
        *,
        ranks: int | None = None,
        timeout: float | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """The processes of a distributed training stay in step. Pass a function: each process calls it by itself."""
        __tracebackhide__ = True
        return self._check(RANKS_AGREE, training, ranks=ranks, timeout=timeout, steps=steps, budget=budget)

    def matches_baseline(
        self,
        training: Subject,
        *,
        baseline: str | None = None,
        update_baseline: bool | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """The first steps follow a healthy run that was recorded in a file."""
        __tracebackhide__ = True
        return self._check(
            MATCHES_BASELINE, training, baseline=baseline, update_baseline=update_baseline, steps=steps, budget=budget
        )

    def improves_on(
        self,
        training: Subject,
        *,
        before: Subject | None = None,
        steps: int | None = None,
        budget: float | None = None,
    ) -> Verdict:
        """The training is better than the one of `before=`, beyond what seeds explain."""
        __tracebackhide__ = True
        return self._check(IMPROVES_ON, training, before=before, steps=steps, budget=budget)

    def history(self, source: Any, *, name: str | None = None) -> History:
        """Reads the log of a finished run, for `history_is_healthy` and for assertions of your own."""
        __tracebackhide__ = True
        from ..histories.read import history
        from ..histories.unreadable import UnreadableHistory

        try:
            return history(source, name=name)
        except UnreadableHistory as error:
            raise misused(error) from None

    def history_is_healthy(self, history: Any) -> Verdict:
        """The log of a finished run, or what `history` reads, shows a training that learnt."""
        __tracebackhide__ = True
        return self._check(HISTORY_IS_HEALTHY, history)

    def generalizes(self, training: Subject, *, steps: int | None = None, budget: float | None = None) -> Verdict:
        """What is learnt from data carries over to val_data."""
        __tracebackhide__ = True
        return self._check(GENERALIZES, training, steps=steps, budget=budget)

    def diagnose(self, training: Subject, checks: Iterable[str] | str | None = None, **settings: Any) -> Report:
        """The whole battery as a record, for the test to make its own assertions on. Raises nothing itself."""
        __tracebackhide__ = True
        self._only_if_enforced()
        from ..engine.battery import asked_for_by_name, in_turn, keywords_of
        from ..engine.request import DoesNotApply

        own: dict[str, Any] = {name: settings.pop(name) for name in ("name", "seed") if name in settings}
        options = self._item.config.stash[OPTIONS]
        advise = settings.pop("advise", options["advise"])
        values = keywords_of(checks, settings, "diagnose")

        def judge(check: str, shared: SharedResults) -> Verdict:
            __tracebackhide__ = True
            by_name = asked_for_by_name(check, checks)
            if not by_name and shared.has_val_data is False:
                raise DoesNotApply
            request = request_for(self._item, check, values[check])
            request = replace(request, advice=None, only_with_val_data=not by_name, **own)
            verdict = run_check(self._item.config, request, training, self._benchmark, shared)
            note_verdict(self._item, verdict)
            return verdict

        report = in_turn(own.get("name") or test_of(self._item)[1], values, judge)
        return self._advised(report, training, own) if advise else report

    def _advised(self, report: Report, training: Subject, own: dict[str, Any]) -> Report:
        from ..examine import advised_report
        from .advice_options import advice_options

        first = report.verdicts[0].check
        request = replace(request_for(self._item, first, {}), advice=advice_options(self._item.config), **own)
        found = advised_report(report, training, request)
        self._item.stash[VERDICTS] = [
            next((new for old, new in zip(report.verdicts, found.verdicts, strict=True) if old is noted), noted)
            for noted in self._item.stash[VERDICTS]
        ]
        return found

    def learning_rate_range(self, training: Subject, *, steps: int = 40, budget: float = 60.0) -> RateRange:
        """Which learning rates work, and where the training's own lies, for assertions of your own."""
        __tracebackhide__ = True
        self._only_if_enforced()
        from ..api import learning_rate_range

        seed = request_for(self._item, LEARNS_FROM_DATA, {}).seed
        return learning_rate_range(training, steps=steps, seed=seed, budget=budget)

    def watch(self) -> AbstractContextManager[Trace]:
        """Records whatever is trained inside the `with` block."""
        __tracebackhide__ = True
        self._only_if_enforced()
        from ..programs.watched_program import watch

        return watch()

    def _check(self, check: str, training: Subject, **keywords: Any) -> Verdict:
        __tracebackhide__ = True
        given = {name: value for name, value in keywords.items() if value is not None}
        given |= {name: value for name, value in self._accepted.items() if name in {s.name for s in takes(check)}}
        values = read_keywords(check, given, f"trainhealth.{check}")
        self._only_if_enforced()
        request = request_for(self._item, check, values)
        return report_outcome(self._item, run_check(self._item.config, request, training, self._benchmark))

    def _benchmark(self) -> Any:
        return self._request.getfixturevalue("benchmark")

    def _only_if_enforced(self) -> None:
        __tracebackhide__ = True
        if not self._item.config.stash[OPTIONS]["enabled"]:
            self._item.stash[UNENFORCED] = self._item.stash.get(UNENFORCED, 0) + 1
            raise NotJudged(NOT_ENFORCED)
