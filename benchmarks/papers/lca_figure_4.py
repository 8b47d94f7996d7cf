"""LCA's figure 4: test negative log-likelihood of six density models on USPS."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.speed.timing import table
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.datasets import load

# Regularisation, in units of the pixels' mean variance; small ones are slow to fit.
STEPS = 10.0 ** np.arange(0, -3.01, -0.5)
# Loss on the test part, and its standard error.
PUBLISHED = {
    "LCA - Isotropic": (268.09, 0.08),
    "LCA - Diagonal": (-2.71, 0.42),
    "LCA - Full": (-386.73, 0.30),
    "Gaussian": (-388.20, 0.27),
    "LCA - Gauss": (-400.28, 0.31),
    "LCA - Gauss - Red": (-400.26, 0.31),
}


def cases(scope: Scope) -> list[Case]:
    """Return data and seed of each run."""
    name = "8 × 8 digits" if scope.quick else "usps"
    return [(name, seed) for seed in scope.repeats(15)]


def run(name: str, seed: int) -> Outcome:
    """Return the test negative log-likelihood of each model on one split."""
    if name == "usps":
        X, sizes = load(name).X, (2000, 3000, 6000)
    else:
        X, sizes = load_digits().data / 16, (200, 300, 600)
    order = np.random.default_rng(seed).permutation(len(X))
    learn, choose, test = (
        X[order[start:stop]] for start, stop in zip((0, *sizes[:2]), sizes, strict=True)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return losses(learn, choose, test)


def losses(learn: FloatArray, choose: FloatArray, test: FloatArray) -> Outcome:
    """Return the loss on the test part, by model, with the ridge chosen on another.

    Parameters
    ----------
    learn, choose, test : ndarray
        Three parts of the data.
    """
    unit = float(learn.var(axis=0).mean())

    def least(make: Callable[[float], Any]) -> tuple[float, float]:
        """Return the best ν on the validation part, and the loss on the test part.

        The ridge falls until the validation part likes it less.
        """
        best: tuple[float, float, Any] = (-np.inf, 0.0, None)
        for ridge in unit * STEPS:
            model = make(float(ridge)).fit(learn)
            reached = float(model.score(choose))
            if reached < best[0]:
                break
            best = (reached, float(ridge), model)
        return best[1], -float(best[2].score(test))

    found = {
        name: least(partial(_lca, form))[1]
        for name, form in (
            ("LCA - Isotropic", "spherical"),
            ("LCA - Diagonal", "diagonal"),
            ("LCA - Full", "full"),
        )
    }
    # All directions Gaussian: no EM to run, and the ridge of the global covariance.
    alpha_global, found["Gaussian"] = least(
        lambda ridge: LCAGauss(learn.shape[1], alpha_local=0.0, alpha_global=ridge)
    )
    alpha_local, found["LCA - Gauss"] = least(
        lambda ridge: LCAGauss(alpha_local=ridge, alpha_global=alpha_global)
    )
    found["ICA"] = least(IndependentDensity)[1]
    searched = LCAGauss(search=True, alpha_local=alpha_local, alpha_global=alpha_global)
    found["LCA - Gauss - Red"] = -float(searched.fit(learn).score(test))
    return found


class IndependentDensity:
    """Independent components, each with a kernel density of its own.

    The reading of ICA in the paper's section 4: x = A s, and the density of s is a
    product of univariate kernel densities, whose bandwidth for unit variance is that of
    its reference [5], 1.06 n^(−1/5).

    Parameters
    ----------
    ridge : float
        Added to the variances before the points are whitened.
    """

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge

    def fit(self, X: FloatArray) -> "IndependentDensity":
        """Find the components of the points."""
        self.mean = X.mean(axis=0)
        covariance = np.cov(X.T, bias=True) + self.ridge * np.eye(X.shape[1])
        variances, axes = np.linalg.eigh(covariance)
        whitening = axes / np.sqrt(variances)
        Z = (X - self.mean) @ whitening
        ica = FastICA(whiten=False, max_iter=50, tol=1e-3, random_state=0).fit(Z)
        rotation = ica.components_.T
        self.map = whitening @ rotation / (Z @ rotation).std(axis=0)
        self.points = ((X - self.mean) @ self.map).T.astype(np.float32)
        self.log_volume = float(np.linalg.slogdet(self.map)[1])
        return self

    def score(self, X: FloatArray) -> float:
        """Return the mean log-density."""
        n = self.points.shape[1]
        width = np.float32(1.06 * n**-0.2)
        total = self.log_volume - len(self.points) * np.log(
            n * width * np.sqrt(2 * np.pi)
        )
        rows = ((X - self.mean) @ self.map).T.astype(np.float32)
        for own, row in zip(self.points / width, rows / width, strict=True):
            exponents = -0.5 * np.square(row[:, None] - own)
            total += float(logsumexp(exponents, axis=1).mean())
        return total


def _lca(form: str, ridge: float) -> LCA:
    return LCA(form, alpha=ridge)


def show(results: Results) -> Page:
    """Return the table."""
    gaussian, theirs = results.values("Gaussian"), PUBLISHED["Gaussian"][0]
    rows = [
        [
            name,
            f"{figure:.2f} ± {error:.2f}".replace("-", "−"),
            f"{figure - theirs:.2f}".replace("-", "−"),
            mean_and_error(results.values(name), 2),
            mean_and_error(results.values(name) - gaussian, 2),
        ]
        for name, (figure, error) in PUBLISHED.items()
    ]
    if (ica := results.values("ICA")).size:
        cells = [mean_and_error(ica, 2), mean_and_error(ica - gaussian, 2)]
        rows.append(["ICA", "", "", *cells])
    less = "less the Gaussian"
    return Page(table(["model", "paper", less, "here", less], rows))


EXPERIMENT = Experiment(
    name="lca-figure-4",
    title="LCA, figure 4: densities of USPS",
    about="""
Section 6.2: negative log-likelihood of 3,000 digits after 2,000 to learn from and
1,000 to choose the ridge by, ± a standard error over 15 runs (the paper says 15
and 20). Another unit of the pixels adds the same to all models, so that differences
from the Gaussian compare. Those of the isotropic and the diagonal model are far from
the paper's, and no reading of them that we tried explains it; its USPS has 8,298
digits, ours 9,298. The ridges of the Gaussian and of LCA-Gauss lie inside the grid.

ICA is not in the paper's figure. It is the product of univariate kernel densities with
which section 4 compares in words: FastICA, at most 50 iterations, on points whitened
with a ridge that is chosen like the others; bandwidth 1.06 n^(−1/5).
""",
    cases=cases,
    run=run,
    show=show,
    needs=("usps",),
)
