"""LCA beside mixtures of Gaussians and kernel densities, on continuous columns."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import sem
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.defaults.densities import gaussian, kernel_density
from benchmarks.papers import outliers
from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.ranks import ranks_by_method
from benchmarks.speed.timing import table
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.datasets import load

MOST_ROWS = 5000
TABLES = (
    *("wine", "breast_cancer", "diabetes", "ionosphere", "boston_housing", "pima"),
    *("ringnorm", "satimage", "segment", "talent_bank", "talent_cpu_act", "yeast"),
)
OF_ADBENCH = (
    *("Cardiotocography", "Stamps", "WPBC", "Wilt", "annthyroid", "fault"),
    *("shuttle", "vertebral"),
)
"""As `TABLES`: those with at least three continuous columns, and none of them twice."""
MOST_EQUAL = 0.1
SMALLEST_EIGENVALUE = 1e-6


def continuous(name: str) -> FloatArray:
    """Return a table's continuous columns, at most `MOST_ROWS` rows drawn at random.

    Columns are left out if one value fills more than `MOST_EQUAL` of the rows, and if
    they are nearly a linear combination of earlier ones: such densities have no bound.
    """
    if name == "diabetes":
        X = load_diabetes().data
    elif name in OF_ADBENCH:
        X = outliers.rows_of(name)[0]
    else:
        X = np.asarray(load(name).X, dtype=np.float64)
    X = X[np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]]
    kept: list[int] = []
    for column, values in enumerate(X.T):
        counts = np.unique(values, return_counts=True)[1]
        if counts.max() <= MOST_EQUAL * len(X):
            trial = np.corrcoef(X[:, [*kept, column]].T).reshape(len(kept) + 1, -1)
            if np.linalg.eigvalsh(trial)[0] >= SMALLEST_EIGENVALUE:
                kept.append(column)
    return X[:, kept]


def cases(scope: Scope) -> list[Case]:
    """Return data and seed of each run."""
    names = ("wine", "diabetes") if scope.quick else (*TABLES, *OF_ADBENCH)
    return [(name, seed) for name in names for seed in scope.repeats(3)]


def whitened(train: FloatArray, test: FloatArray) -> float:
    """Return the mean log-density of KernelDensity after whitening."""
    pca = PCA(whiten=True).fit(train)
    volume = 0.5 * float(np.log(pca.explained_variance_).sum())
    return kernel_density(pca.transform(train), pca.transform(test)) - volume


def mixture(train: FloatArray, test: FloatArray) -> float:
    """Return that of the mixture of up to ten Gaussians with the lowest BIC."""
    models = [
        GaussianMixture(k, random_state=0).fit(train)
        for k in range(1, 11)
        if k * train.shape[1] < len(train)
    ]
    return float(min(models, key=lambda model: model.bic(train)).score(test))


MODELS: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "LCA": lambda train, test: float(LCA().fit(train).score(test)),
    "LCAGauss": lambda train, test: float(LCAGauss().fit(train).score(test)),
    "mixture, BIC": mixture,
    "KernelDensity, whitened": whitened,
    "KernelDensity": kernel_density,
    "one Gaussian": gaussian,
}


def run(name: str, seed: int) -> Outcome:
    """Return the mean log-density of the test rows by model."""
    train, test = train_test_split(continuous(name), test_size=0.3, random_state=seed)
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = {of: model(train, test) for of, model in MODELS.items()}
    return scores | {"rows": len(train) + len(test), "columns": train.shape[1]}


def show(results: Results) -> Page:
    """Return the mean ranks, the differences to LCA, and the table by table."""
    names = [str(name) for (name,) in results.heads()]
    means = {
        name: {of: float(results.values(of, name).mean()) for of in MODELS}
        for name in names
    }
    places, rows = ranks_by_method(means), []
    for of in places:
        lead = np.array([means[name]["LCA"] - means[name][of] for name in names])
        error = [sem(_lead(results, of, name)) for name in names]
        won, lost = (int((sign * lead > 2 * np.array(error)).sum()) for sign in (1, -1))
        cells = ["", "", ""]
        if of != "LCA":
            cells = [f"{np.median(lead):+.2f}".replace("-", "−"), f"{won}", f"{lost}"]
        rows.append([of, mean_and_error(places[of]), *cells])
    head = ["model", "mean rank", "LCA less it, median", "LCA above", "LCA below"]
    by_table = [
        [
            name,
            f"{results.values('rows', name)[0]:,.0f} × "
            f"{results.values('columns', name)[0]:.0f}",
            *(mean_and_error(results.values(of, name), 2) for of in MODELS),
        ]
        for name in names
    ]
    return Page(
        f"{len(names)} tables; above and below count tables with a difference of more "
        f"than two standard errors over splits:\n\n{table(head, rows)}\n\n"
        f"Table by table:\n\n{table(['data', 'n × d', *MODELS], by_table)}"
    )


def _lead(results: Results, of: str, name: str) -> FloatArray:
    return results.values("LCA", name) - results.values(of, name)


EXPERIMENT = Experiment(
    name="lca-densities",
    title="Densities: LCA beside mixtures and kernel densities",
    about=f"""
Mean log-density of held-out rows in nats (not of the papers): random splits of 70/30,
columns standardised by the training rows, at most {MOST_ROWS:,} rows. Only continuous
columns: those in which no value fills more than {MOST_EQUAL:.0%} of the rows, and that
are no linear combination of the others. Elsewhere a density has no upper bound, and the
narrowest kernel wins. LCA and LCAGauss have their defaults; the mixture has full
covariances and the number of Gaussians, up to ten, with the lowest BIC; KernelDensity
has the bandwidth that five folds choose, on standardised or whitened (PCA) columns.
""",
    cases=cases,
    run=run,
    show=show,
    needs=TABLES,
)
