"""BANKING77, 13,083 questions of 77 intents: do they find others of their intent.

The official split. Maps are learned from training questions alone; each test question
looks for its like among them.
"""

import os
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from vicinal import NCAClassifier, PairNCA
from vicinal._typing import FloatArray, IntArray
from vicinal.adapters import Evaluation, ranking_scores

# Settings of PairNCA that are tried on folds of the training questions.
DIMENSIONS = (128,)
ALPHAS = (1e-4, 1e-3, 1e-2)
PAIRS_A_CLASS = 10


def load() -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Read training and test questions from the folder named by VICINAL_DATA."""
    path = Path(os.environ["VICINAL_DATA"]) / "banking77.npz"
    with np.load(path, allow_pickle=False) as arrays:
        X, y, is_test = arrays["X"].astype(np.float32), arrays["y"], arrays["is_test"]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    test = is_test.astype(bool)
    return X[~test], y[~test], X[test], y[test]


def main(sides: list[str], n_folds: int, seed: int) -> None:  # noqa: ARG001
    """Print recall@1 and mean average precision before and after."""
    X, y, X_test, y_test = load()
    few = few_rows(y, PAIRS_A_CLASS + 1, seed)
    show("10 pairs a class", X[few], y[few], X, y, X_test, y_test, seed)
    show("all", X, y, X, y, X_test, y_test, seed)
    logistic = LogisticRegression(C=10, max_iter=1000)
    for name, rows in (("10 pairs a class", few), ("all", np.arange(len(y)))):
        right = logistic.fit(X[rows], y[rows]).score(X_test, y_test)
        print(f"logistic regression on the raw vectors, {name}: {100 * right:.1f} %")


def show(
    name: str,
    X: FloatArray,
    y: IntArray,
    documents: FloatArray,
    labels: IntArray,
    X_test: FloatArray,
    y_test: IntArray,
    seed: int,
) -> None:
    """Learn from some questions; test questions look among all training ones."""
    wanted = csr_array((y_test[:, None] == labels).astype(float))
    before = ranking_scores(X_test, documents, wanted, k=1)
    for method, fit in (("PairNCA", fit_pairs), ("NCA, log", fit_nca)):
        started = time.perf_counter()
        A = fit(X, y, seed)
        took = time.perf_counter() - started
        after = ranking_scores(
            X_test @ A.T, documents @ A.T, wanted, k=1, metric="cosine"
        )
        names = ("hit@1", "map")
        print(f"\n{method}, {name}: {len(y):,} questions, {took:.1f} s, {A.shape}")
        print(
            Evaluation({n: before[n] for n in names}, {n: after[n] for n in names}),
            flush=True,
        )


def fit_pairs(X: FloatArray, y: IntArray, seed: int) -> FloatArray:
    """Return PairNCA's map of random pairs of each intent, penalty tuned on folds."""
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    learning, judging = next(iter(folds.split(X, y)))
    best, chosen = -1.0, (DIMENSIONS[0], ALPHAS[0])
    wanted = csr_array((y[judging][:, None] == y[learning]).astype(float))
    for d in DIMENSIONS:
        for alpha in ALPHAS:
            A = pair_map(X[learning], y[learning], d, alpha, seed)
            found = ranking_scores(X[judging] @ A.T, X[learning] @ A.T, wanted, k=1)
            score = float(np.nanmean(found["hit@1"]))
            if score > best:
                best, chosen = score, (d, alpha)
    return pair_map(X, y, *chosen, seed)


def pair_map(X: FloatArray, y: IntArray, d: int, alpha: float, seed: int) -> FloatArray:
    """Return the map of pairs: each question with ten random others of its intent."""
    rng = np.random.default_rng(seed)
    pairs = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        for row in rows:
            others = rows[rows != row]
            some = rng.permutation(others)[:10]
            pairs += [(row, other) for other in some]
    model = PairNCA(
        d, normalization="anchor", alpha=alpha, max_iter=10, random_state=seed
    )
    return model.fit(X, np.array(pairs)).components_


def fit_nca(X: FloatArray, y: IntArray, seed: int) -> FloatArray:
    """Return NCA's map: g, with the penalty that NCAClassifier chooses."""
    chosen = NCAClassifier(64, random_state=seed)
    return chosen.fit(X, y).components_


def few_rows(y: IntArray, n: int, seed: int) -> IntArray:
    """Return n random rows of each class."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(y == label))[:n] for label in np.unique(y)]
    return np.sort(np.concatenate(rows))
