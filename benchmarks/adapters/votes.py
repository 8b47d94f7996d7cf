"""BANKING77 with all its training questions: one neighbour against votes of many.

Every setting is chosen on a third of the training questions, each row of the table by
its own accuracy there. Test questions are looked at once, at the end.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.adapters.banking77 import load
from vicinal import NCAClassifier
from vicinal._typing import FloatArray

ALPHAS = (1e-4, 3e-4, 1e-3)
N_COMPONENTS = 128
# Votes of raw vectors: how many of the nearest, and the temperature of exp(cos / T).
N_NEIGHBORS = (5, 15, 45)
TEMPERATURES = (0.02, 0.05, 0.1)
STRENGTHS = (1.0, 10.0, 100.0)
_N_DRAWS = 2000
LOGISTIC = "logistic regression, raw vectors"

Labels = NDArray[Any]
Predict = Callable[[FloatArray], Labels]
Fit = Callable[[FloatArray, Labels, float], Predict]


def main(sides: list[str], n_folds: int, seed: int) -> None:  # noqa: ARG001
    """Print test accuracies with their standard errors, and paired differences."""
    X, y, X_test, y_test = load()
    learning, judging = train_test_split(
        np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed
    )
    nca = Fitted(seed)
    rows: tuple[tuple[str, Fit, Sequence[float]], ...] = (
        ("raw vectors, 1-NN", k_nearest, (1,)),
        ("raw vectors, k-NN", k_nearest, N_NEIGHBORS),
        ("raw vectors, soft vote", soft_vote, TEMPERATURES),
        ("NCA, g, 1-NN", nca.one_nearest, ALPHAS),
        ("NCA, g, soft vote", nca.vote, ALPHAS),
        (LOGISTIC, logistic, STRENGTHS),
    )
    right = {}
    for name, fit, settings in rows:
        started = time.perf_counter()
        judged = [
            float(np.mean(fit(X[learning], y[learning], one)(X[judging]) == y[judging]))
            for one in settings
        ]
        best = settings[int(np.argmax(judged))]
        right[name] = fit(X, y, best)(X_test) == y_test
        tried = ", ".join(
            f"{one:g}: {100 * found:.1f}"
            for one, found in zip(settings, judged, strict=True)
        )
        took = time.perf_counter() - started
        print(f"{name}: on a third of the training ({tried}), {took:.0f} s", flush=True)
    for alpha, model in nca.of_all(len(X)):
        asked = np.nanquantile(model.effective_neighbors_, [0.1, 0.5, 0.9])
        print(
            f"NCA, alpha {alpha:g}: a training question asks effectively "
            f"{asked[1]:.1f} others (10 % to 90 %: {asked[0]:.1f} to {asked[2]:.1f})"
        )
    for way in ("k-NN", "soft vote"):
        for what in ("raw vectors", "NCA, g"):
            if (name := f"{what}, {way}") in right:
                one = right[f"{what}, 1-NN"]
                mended, spoiled = np.sum(right[name] & ~one), np.sum(one & ~right[name])
                print(f"{name}: {mended} right that 1-NN has wrong, {spoiled} reversed")
    print_table(right, seed)


def k_nearest(X: FloatArray, y: Labels, k: float) -> Predict:
    """Return the commonest class of the k nearest."""
    model = KNeighborsClassifier(int(k), algorithm="brute").fit(X, y)
    return lambda points: np.asarray(model.predict(points))


def soft_vote(X: FloatArray, y: Labels, temperature: float) -> Predict:
    """Return the class with the largest sum of exp(cosine / T)."""
    names, codes = np.unique(y, return_inverse=True)
    members = np.eye(len(names), dtype=X.dtype)[codes]

    def predict(points: FloatArray) -> Labels:
        votes = [
            np.exp((part @ X.T - 1) / temperature) @ members
            for part in np.array_split(points, max(1, len(points) // 500))
        ]
        return names[np.concatenate(votes).argmax(axis=1)]

    return predict


def logistic(X: FloatArray, y: Labels, strength: float) -> Predict:
    """Return what logistic regression says of the vectors as they are."""
    model = LogisticRegression(C=strength, max_iter=1000).fit(X, y)
    return lambda points: np.asarray(model.predict(points))


class Fitted:
    """NCA's maps, each learned once for both ways to predict."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.known: dict[tuple[int, float], NCAClassifier] = {}

    def one_nearest(self, X: FloatArray, y: Labels, alpha: float) -> Predict:
        """Return the class of the nearest under the map."""
        model = self._model(X, y, alpha)
        nearest = k_nearest(model.transform(X), y, 1)
        return lambda points: nearest(model.transform(points))

    def vote(self, X: FloatArray, y: Labels, alpha: float) -> Predict:
        """Return the most probable class, all rows voting (eq. 3.25 of the thesis)."""
        model = self._model(X, y, alpha)
        return lambda points: np.asarray(model.predict(points))

    def of_all(self, n: int) -> list[tuple[float, NCAClassifier]]:
        """Return the models learned from n rows, with their penalties."""
        return [(alpha, one) for (rows, alpha), one in self.known.items() if rows == n]

    def _model(self, X: FloatArray, y: Labels, alpha: float) -> NCAClassifier:
        if (len(X), alpha) not in self.known:
            model = NCAClassifier(
                N_COMPONENTS,
                objective="log",
                alpha=alpha,
                init="pca",
                random_state=self.seed,
            )
            with warnings.catch_warnings():
                # Fifty iterations are what is measured.
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.known[len(X), alpha] = model.fit(X, y)
        return self.known[len(X), alpha]


def print_table(right: dict[str, NDArray[np.bool_]], seed: int) -> None:
    """Print accuracies, with errors by a bootstrap of the test rows."""
    n = len(next(iter(right.values())))
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=_N_DRAWS)
    drawn = {name: 100 * counts @ one / n for name, one in right.items()}

    def less(name: str, other: str) -> str:
        if name == other:
            return ""
        gap = 100 * (right[name].mean() - right[other].mean())
        return f"{gap:+.1f} ± {(drawn[name] - drawn[other]).std():.1f}"

    print(f"\n| {n:,} test questions | accuracy (%) | less its 1-NN | less logistic |")
    print("|---|---|---|---|")
    for name, one in right.items():
        accuracy = f"{100 * one.mean():.1f} ± {drawn[name].std():.1f}"
        own = f"{name.rpartition(', ')[0]}, 1-NN"
        alone = less(name, own) if own in right else ""
        print(f"| {name} | {accuracy} | {alone} | {less(name, LOGISTIC)} |")
