"""What has been run so far: methods and points of reference, split by split."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.comparison.data import UnfitError
from vicinal.app.comparison.fitting import merged_warnings
from vicinal.app.comparison.records import MethodResult
from vicinal.app.comparison.references import (
    REFERENCE_SPLITS,
    reference_names,
    run_reference,
)
from vicinal.app.comparison.result import Comparison
from vicinal.app.comparison.runs import Effort, run_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal._typing import IntArray
    from vicinal.app.comparison.data import ComparisonData
    from vicinal.app.comparison.runs import Run
    from vicinal.app.methods.registry import Method

__all__ = ["Ledger", "run_splits"]

# Of the time left, the part that gradient boosting may take.
_FOR_BOOSTING = 0.1


@dataclass(eq=False)
class Ledger:
    """The runs of a comparison.

    Attributes
    ----------
    data : ComparisonData
        The rows.
    methods : list of Method
        What is compared.
    show : callable
        Called with what is done, of how much, and what is being done.
    references : tuple of str
        What they are held against.
    runs, reference_runs : dict
        Of each, in the order of the splits.
    tests : list of ndarray
        Test rows of the splits.
    failures : dict
        Methods that cannot be used, and why.
    notes : list of str
        What was left out or shortened.
    """

    data: ComparisonData
    methods: list[Method]
    show: Callable[[int, int, str], object]
    references: tuple[str, ...] = ()
    runs: dict[str, list[Run]] = field(default_factory=dict)
    reference_runs: dict[str, list[Run]] = field(default_factory=dict)
    tests: list[IntArray] = field(default_factory=list)
    failures: dict[str, UnfitError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        data: ComparisonData,
        methods: list[Method],
        references: bool,
        show: Callable[[int, int, str], object],
    ) -> Ledger:
        """Return one in which nothing has been run."""
        names = reference_names(data.setting.task) if references else ()
        return cls(data, methods, show, names)

    @property
    def able(self) -> list[Method]:
        """The methods that have not failed."""
        return [one for one in self.methods if one.name not in self.failures]

    def run(
        self,
        method: Method,
        train: IntArray,
        test: IntArray,
        effort: Effort | None = None,
    ) -> Run | None:
        """Run a method, or note that it cannot be used; unfit once, it is no more."""
        if method.name in self.failures:
            return None
        try:
            run = run_method(self.data, method, train, test, effort)
        except UnfitError as error:
            self.failures[method.name] = error
            return None
        self.runs.setdefault(method.name, []).append(run)
        return run

    def run_references(
        self,
        train: IntArray,
        test: IntArray,
        deadline: float,
        step: Callable[[str], None],
    ) -> None:
        """Run the points of reference, within a part of the time that is left."""
        for name in self.references:
            step(name)
            now = time.perf_counter()
            until = now + _FOR_BOOSTING * (deadline - now)
            run = run_reference(self.data, name, train, test, until)
            self.reference_runs.setdefault(name, []).append(run)

    def comparison(self) -> Comparison:
        """Return what came of it.

        Raises
        ------
        ValueError
            When no method could be used.
        """
        if not self.able:
            name, error = next(iter(self.failures.items()))
            raise ValueError(f"{name} cannot be used here: {error}") from error
        left_out = [
            f"{name} was left out: {why}" for name, why in self.failures.items()
        ]
        setting = replace(
            self.data.setting,
            n_splits=len(self.tests),
            tests=tuple(self.tests),
            notes=(*self.data.setting.notes, *self.notes, *left_out),
        )
        return Comparison(
            tuple(_result(one.name, self.runs[one.name]) for one in self.able),
            setting,
            tuple(_result(name, runs) for name, runs in self.reference_runs.items()),
        )


def run_splits(ledger: Ledger, n_splits: int, deadline: float) -> None:
    """Run every method on every split, as many splits as there is time for.

    Parameters
    ----------
    ledger : Ledger
        Where the runs are kept.
    n_splits : int
        How many are asked for.
    deadline : float
        On the clock of `time.perf_counter`; infinity where there is none.
    """
    n_methods = len(ledger.methods)
    n_reference = min(n_splits, REFERENCE_SPLITS) * len(ledger.references)
    total, done = n_splits * n_methods + n_reference, 0
    begun = time.perf_counter()

    def step(name: str) -> None:
        nonlocal done
        ledger.show(done, total, name)
        done += 1

    # Splits outside, methods inside: the time taken then tells the time left, and
    # when it is over, all methods have seen the same splits.
    for number, (train, test) in enumerate(ledger.data.splits(n_splits)):
        now = time.perf_counter()
        if number and now + (now - begun) / number > deadline:
            ledger.notes.append(
                f"The time budget (--time-budget) was enough for {number} of "
                f"{n_splits} splits."
            )
            break
        ledger.data.check_split(train)
        for method in ledger.methods:
            step(method.name)
            over = time.perf_counter() > deadline
            # Few rows are not planned for, however many columns they have.
            if over and not number and ledger.runs:
                late = UnfitError(
                    "the time budget (--time-budget) was over before its turn."
                )
                ledger.failures[method.name] = late
            ledger.run(method, train, test, Effort(until=deadline))
        if not ledger.able:
            break
        if number < REFERENCE_SPLITS:
            ledger.run_references(train, test, deadline, step)
        ledger.tests.append(test)
    ledger.show(total, total, "done")


def _result(name: str, runs: list[Run]) -> MethodResult:
    confusions = [run.confusion for run in runs if run.confusion is not None]
    agreements = [run.agreement for run in runs if run.agreement is not None]
    return MethodResult(
        name=name,
        n_components=np.array([run.n_components for run in runs]),
        scores=np.array([run.score for run in runs]),
        fit_seconds=np.array([run.fit_seconds for run in runs]),
        query_seconds=np.array([run.query_seconds for run in runs]),
        not_converged=sum(run.stopped for run in runs),
        warnings=merged_warnings(text for run in runs for text in run.warnings),
        confusion=sum(confusions[1:], confusions[0]) if confusions else None,
        agreement=np.array(agreements) if agreements else None,
        outcomes=tuple(run.outcome for run in runs),
        n_learned=np.array([run.n_learned for run in runs]),
        broken_off=sum(run.broken_off for run in runs),
    )
