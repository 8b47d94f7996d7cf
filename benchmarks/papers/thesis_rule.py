"""The thesis' section 3.3.5: NCA's rule against 1-NN."""

from typing import Any

import numpy as np

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, classes_of, split_of, votes
from benchmarks.speed.timing import table
from vicinal import NCAClassifier

DATA = ("balance_scale", "ionosphere", "iris", "wine", "pima", "yeast")
RANKS: dict[str, int | None] = {"d = 2": 2, "full rank": None}
WAYS: dict[str, dict[str, Any]] = {
    "to the end": {},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 5},
}
KS = (1, 3, 5, 15)
GAINS = (*(f"{k}-NN" for k in KS[1:]), "rule")


def cases(scope: Scope) -> list[Case]:
    """Return rank, way, data and seed of each run."""
    return [
        (rank, way, name, seed)
        for rank in RANKS
        for way in WAYS
        for name in (QUICK if scope.quick else DATA)
        for seed in scope.repeats(40)
    ]


def run(rank: str, way: str, name: str, seed: int) -> Outcome:
    """Return the accuracy of k-NN and of the rule on the test rows."""
    X_train, X_test, y_train, y_test = split_of(*classes_of(name), seed)
    # Early stopping holds out a row of each class, and one must be left.
    several = np.bincount(y_train)[y_train] > 1
    split = X_train[several], X_test, y_train[several], y_test
    model = NCAClassifier(
        RANKS[rank], objective="expected", alpha=0.0, max_iter=200, random_state=seed,
        **WAYS[way],
    )  # fmt: skip
    outcome: Outcome = {**votes(model, split, KS)}
    outcome["iterations"] = int(model.n_iter_)
    outcome["effective neighbors"] = float(np.nanmedian(model.effective_neighbors_))
    return outcome


def show(results: Results) -> Page:
    """Return a table for each rank and way, and the mean gains over 1-NN."""
    text, means = [], []
    for rank, way in results.heads(2):
        rows, gains = [], []
        for _, _, name in results.heads(3, rank, way):
            at = (rank, way, name)
            one = results.values("1-NN", *at)
            found = [results.values(vote, *at) - one for vote in GAINS]
            gains.append([float(of.mean()) for of in found])
            rows.append(
                [
                    str(name),
                    mean_and_error(results.values("iterations", *at), 0),
                    mean_and_error(results.values("effective neighbors", *at)),
                    mean_and_error(one, factor=100),
                    *(mean_and_error(of, factor=100) for of in found),
                ]
            )
        means.append(
            [f"{rank}, {way}"]
            + [mean_and_error(of, factor=100) for of in np.array(gains).T]
        )
        text.append(f"{rank}, {way}:")
        head = ["data", "iterations", "effective neighbors", "1-NN (%)", *GAINS]
        text.append(table(head, rows))
    text.append("Mean gain over 1-NN over the data sets, ± its standard error:")
    text.append(table(["", *GAINS], means))
    return Page("\n\n".join(text))


EXPERIMENT = Experiment(
    name="thesis-rule",
    title="Thesis, section 3.3.5: NCA's rule and 1-NN",
    about="""
The thesis says that 1-NN and the NCA rule (eq. 3.25) give very similar results after
NCA without a penalty, and that with early stopping the rule is better; k-NN with k > 1
should then be better than 1-NN, too. Here both, from the default start: at most 200
iterations, or until f on a tenth of the training rows, held out, has not risen for five
iterations. Forty splits of 70/30; accuracy on the test rows; the columns after 1-NN are
gains over it in points, paired by split, ± a standard error. Training rows that are
alone in their class (one, on some splits of yeast) are left out.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
