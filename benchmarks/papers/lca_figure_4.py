"""LCA's figure 4: test negative log-likelihood on USPS; then held-out scores elsewhere.

The first table follows section 6.2: 2000 points to learn from, 1000 to choose the
regularisation by, 3000 to test on. The second compares with scikit-learn's
KernelDensity on every classification data set with at most 60 features; "chosen" is
the model with the best cross-validated score on the training part.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
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
STEPS = 10.0 ** np.arange(-3, 0.01, 0.5)
FORMS = ("spherical", "diagonal", "low-rank", "full")
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
    header = ["data", "n × d", "KernelDensity"]
    header += [*(f"LCA, {form}" for form in FORMS), "LCAGauss", "chosen", "won"]
    print(table(header, rows))


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
        name: least(partial(_lca, form))[1]
        for name, form in (
            ("LCA - Isotropic", "spherical"),
            ("LCA - Diagonal", "diagonal"),
            ("LCA - Full", "full"),
        )
    }
    # All directions Gaussian: no EM to run, and the ridge of the global covariance.
    reg_global, losses["Gaussian"] = least(
        lambda ridge: LCAGauss(X.shape[1], reg_local=0.0, reg_global=ridge)
    )
    reg_local, losses["LCA - Gauss"] = least(
        lambda ridge: LCAGauss(reg_local=ridge, reg_global=reg_global)
    )
    searched = LCAGauss("search", reg_local=reg_local, reg_global=reg_global)
    losses["LCA - Gauss - Red"] = -searched.fit(parts[0]).score(parts[2])
    return losses


def _lca(form: str, ridge: float) -> LCA:
    return LCA(form, reg=ridge)


def compared(name: str, n_splits: int) -> list[str]:
    """Return the row of one data set in the second table."""
    X, y = classes_of(name)
    scores = np.array([_scores(part[0], part[1]) for part in splits(X, y, n_splits)])
    wins = int((scores[:, -1] > scores[:, 0]).sum())
    shape = f"{len(X):,} × {X.shape[1]}"
    return [name, shape, *map(_cell, scores.T), f"{wins} of {n_splits}"]


def _scores(X_train: FloatArray, X_test: FloatArray) -> list[float]:
    folds = KFold(5, shuffle=True, random_state=0)
    # One leaf: with its usual tree, KernelDensity is wrong where densities are low.
    exact = KernelDensity(leaf_size=len(X_train))
    peer = GridSearchCV(exact, {"bandwidth": BANDWIDTHS}, cv=folds)
    peer.fit(X_train)
    models = [LCA(form, reg="cv", cv=folds).fit(X_train) for form in FORMS]
    models.append(LCAGauss(reg_local="cv", reg_global="cv", cv=folds).fit(X_train))
    chosen = max(models, key=lambda model: model.cv_score_)
    ours = [float(model.score(X_test)) for model in (*models, chosen)]
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
