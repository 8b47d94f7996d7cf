"""LCA's figure 4: test negative log-likelihood on USPS; then held-out scores elsewhere.

The first table follows section 6.2: 2000 points to learn from, 1000 to choose the
regularisation by, 3000 to test on. The second compares with scikit-learn's
KernelDensity on every classification data set with at most 60 features.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from benchmarks.papers.splits import classes_of, splits
from benchmarks.speed.timing import table
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.datasets import available, load

# Regularisation, in units of the pixels' mean variance.
STEPS = 10.0 ** np.arange(-5, 0.01, 0.25)
BANDWIDTHS = 10.0 ** np.arange(-2, 1.01, 0.1)
PUBLISHED = {
    "LCA - Isotropic": "268.09 ± 0.08",
    "LCA - Diagonal": "−2.71 ± 0.42",
    "LCA - Full": "−386.73 ± 0.30",
    "Gaussian": "−388.20 ± 0.27",
    "LCA - Gauss": "−400.28 ± 0.31",
    "LCA - Gauss - Red": "−400.26 ± 0.31",
}


def main(n_splits: int | None) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    n_splits = n_splits or 15
    print(
        f"USPS, test negative log-likelihood, {n_splits} splits; ± a standard error\n"
    )
    X = load("usps").X
    results = [figure_4(X, seed) for seed in range(n_splits)]
    rows = []
    for name, figure in PUBLISHED.items():
        losses = np.array([result[name] for result in results])
        above = losses - np.array([result["Gaussian"] for result in results])
        rows.append([name, figure, _cell(losses), _cell(above)])
    header = ["model", "paper", "here", "here, less the Gaussian"]
    print(table(header, rows), flush=True)

    n_splits = min(n_splits, 5)
    print(
        f"\nHeld-out log-likelihood, standardised features, {n_splits} 70/30 splits\n"
    )
    rows = [compared(name, n_splits) for name in _names()]
    print(table(["data", "n × d", "KernelDensity", "LCA", "LCAGauss", "won"], rows))


def figure_4(X: FloatArray, seed: int) -> dict[str, float]:
    """Return the test negative log-likelihood of each model on one split."""
    order = np.random.default_rng(seed).permutation(len(X))
    parts = X[order[:2000]], X[order[2000:3000]], X[order[3000:6000]]
    unit = float(X[order[:2000]].var(axis=0).mean())

    def least(make: Callable[[float], Any]) -> tuple[float, float]:
        """Return the best ν on the validation part, and the loss on the test part."""
        learn, choose, test = parts
        best = (-np.inf, 0.0, 0.0)
        for ridge in unit * STEPS:
            model = make(float(ridge)).fit(learn)
            reached = float(model.score(choose))
            if reached > best[0]:
                best = (reached, float(ridge), -float(model.score(test)))
        return best[1], best[2]

    losses = {
        name: least(lambda ridge, form=form: LCA(form, reg=ridge))[1]  # type: ignore[misc]
        for name, form in (
            ("LCA - Isotropic", "spherical"),
            ("LCA - Diagonal", "diagonal"),
            ("LCA - Full", "full"),
        )
    }
    # All directions Gaussian: no EM to run, and the ridge of the global covariance.
    reg_global, losses["Gaussian"] = least(
        lambda ridge: LCAGauss(X.shape[1], reg_global=ridge)
    )
    for name, n_gaussian in (("LCA - Gauss", "auto"), ("LCA - Gauss - Red", "search")):
        losses[name] = least(
            lambda ridge, n=n_gaussian: LCAGauss(  # type: ignore[misc]
                n, reg_local=ridge, reg_global=reg_global
            )
        )[1]
    return losses


def compared(name: str, n_splits: int) -> list[str]:
    """Return the row of one data set in the second table."""
    X, y = classes_of(name)
    scores = np.array([_scores(part[0], part[1]) for part in splits(X, y, n_splits)])
    wins = int((scores[:, 1:].max(axis=1) > scores[:, 0]).sum())
    shape = f"{len(X):,} × {X.shape[1]}"
    return [name, shape, *map(_cell, scores.T), f"{wins} of {n_splits}"]


def _scores(X_train: FloatArray, X_test: FloatArray) -> list[float]:
    folds = KFold(5, shuffle=True, random_state=0)
    peer = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=folds)
    peer.fit(X_train)
    models = [LCA(reg="cv"), LCAGauss(reg_local="cv", reg_global="cv")]
    ours = [float(model.fit(X_train).score(X_test)) for model in models]
    return [float(peer.score(X_test)) / len(X_test), *ours]


def _names() -> Iterable[str]:
    """Yield the classification data sets with at most 60 features."""
    for name in available():
        data = load(name)
        if data.X.shape[1] <= 60 and data.y.dtype.kind != "f":
            yield name


def _cell(values: FloatArray) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.2f} ± {error:.2f}".replace("-", "−")
