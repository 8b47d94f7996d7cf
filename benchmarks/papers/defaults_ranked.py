"""Every method with vicinal's defaults on every data set, and its mean rank."""

import numpy as np

from benchmarks.defaults.scores import (
    CLASSIC,
    CLASSIFIERS,
    METRICS,
    PLAIN_CLASSIFIERS,
    score,
)
from benchmarks.defaults.tables import TUNING
from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.ranks import by_defaults, ranked_table, ranks_by_method
from benchmarks.papers.splits import QUICK, classes_of, split_of

DATA = (
    "wine", "breast_cancer", "balance_scale", "german_numeric", "ionosphere",
    "ringnorm", "satimage", "usps", "isolet_1and5", "office_caltech10_surf",
    "talent_mfeat_factors", *TUNING,
)  # fmt: skip
METHODS = {
    **{name: PLAIN_CLASSIFIERS[name] for name in ("3-NN", "15-NN", "LDA")},
    **METRICS,
    **CLASSIFIERS,
    **{name: CLASSIC[name] for name in ("LMNN", "RCA")},
}
MOST_ROWS = 1000


def cases(scope: Scope) -> list[Case]:
    """Return data and seed of each run."""
    names = QUICK[1:] if scope.quick else DATA
    return [(name, seed) for name in names for seed in scope.repeats(3)]


def run(name: str, seed: int) -> Outcome:
    """Return the accuracy by method."""
    X, y = classes_of(name)
    split = split_of(X.astype(np.float64), y, seed, MOST_ROWS)
    return {
        method: score(make, split, "classification").value
        for method, make in METHODS.items()
    }


def show(results: Results) -> Page:
    """Return the table with ranks, and the means where nothing was tuned."""
    scores = by_defaults(results)
    text = ranked_table(scores)
    unseen = {name: of for name, of in scores.items() if name not in TUNING}
    if 0 < len(unseen) < len(scores):
        means = ", ".join(
            f"{of} {mean_and_error(ranks)}"
            for of, ranks in ranks_by_method(unseen).items()
        )
        text += (
            f"\n\nOn the {len(unseen)} data sets that no default was chosen on, the "
            f"mean ranks are: {means}."
        )
    return Page(f"Accuracy on the test part (%), and rank in brackets:\n\n{text}")


EXPERIMENT = Experiment(
    name="defaults-ranked",
    title="Where the defaults stand",
    about=f"""
Not an experiment of the papers: every method with the defaults of vicinal, on the data
sets of the papers and some more. Three random splits of 70/30, at most
{MOST_ROWS:,} rows to learn from, features standardised by the training part. Metrics
are judged by 3-NN, classifiers by themselves; LDA is scikit-learn's. Defaults were
chosen on {", ".join(TUNING)}, so that the ranks without these count for more.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
