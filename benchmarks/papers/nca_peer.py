"""1-NN after NCA against scikit-learn's NCA, on every data set with n ≤ 3,000."""

from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, accuracy, classes_of, split_of
from benchmarks.speed.timing import table
from vicinal import NCA

DATA = (
    "iris", "wine", "breast_cancer", "digits", "balance_scale", "pima", "segment",
    "german_numeric", "dermatology", "ionosphere", "yeast", "olivetti", "umist",
    "allaml", "arcene", "dexter", "office_caltech10_surf",
)  # fmt: skip
MODELS = {"scikit-learn": NeighborhoodComponentsAnalysis, "vicinal": NCA}


def cases(scope: Scope) -> list[Case]:
    """Return data and seed of each run."""
    names = QUICK if scope.quick else DATA
    return [(name, seed) for name in names for seed in scope.repeats(3)]


def run(name: str, seed: int) -> Outcome:
    """Return the accuracy of both, with their defaults and the same start."""
    X, y = classes_of(name)
    split, d = split_of(X, y, seed), min(10, X.shape[1])
    return {
        of: accuracy(model(d, random_state=0), split) for of, model in MODELS.items()
    }


def show(results: Results) -> Page:
    """Return the table, and the mean difference."""
    rows, gaps = [], []
    for (name,) in results.heads():
        peer, ours = (results.values(of, name) for of in MODELS)
        gaps.append(float((ours - peer).mean()))
        cells = [mean_and_error(of, factor=100) for of in (peer, ours, ours - peer)]
        rows.append([str(name), *cells])
    text = table(["data", *MODELS, "difference"], rows)
    mean = mean_and_error(gaps, 2, 100)
    return Page(f"{text}\n\nMean difference over the data sets: {mean} points.")


EXPERIMENT = Experiment(
    name="nca-peer",
    title="NCA beside scikit-learn's",
    about="""
1-NN accuracy (%) after NCA to at most ten dimensions, both with their defaults: three
random splits of 70/30, ± a standard error.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
