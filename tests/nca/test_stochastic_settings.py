"""The stochastic solver's settings, awkward data, and scikit-learn's checks."""

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.nca.data import QUICK, X, planted, y
from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal.objectives import MinibatchSampler

KINDS = ["expected", "log", "class-density"]
ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


@pytest.mark.parametrize("sizes", [(10**6, 10**6), (10**6, "all"), (600, 600)])
def test_sizes_above_the_datas_are_the_datas(sizes: tuple[Any, Any]) -> None:
    def fit(batch_size: Any, n_references: Any) -> NCA:
        settings = {**QUICK, "batch_size": batch_size, "n_references": n_references}
        settings["max_iter"] = 1
        return NCA(2, **settings).fit(X, y)

    np.testing.assert_array_equal(fit(*sizes).components_, fit(601, 601).components_)


@pytest.mark.parametrize(
    ("objective", "n_steps"),
    [("expected", 24), ("class-density", 24), ("log", 50), ("squared-error", 50)],
)
def test_steps_of_two_iterations(
    objective: str, n_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    draw = MinibatchSampler.draw

    def counted(*given: Any) -> Any:
        drawn.append(given)
        return draw(*given)

    monkeypatch.setattr(MinibatchSampler, "draw", counted)
    settings = {**QUICK, "max_iter": 2}
    NCA(2, objective=objective, **settings).fit(X, y)
    assert len(drawn) == n_steps


def test_verbose_names_the_solver(capsys: pytest.CaptureFixture[str]) -> None:
    NCA(2, verbose=1, **{**QUICK, "max_iter": 2}).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[NCA] solver stochastic, in 10 of 10 directions"
    assert [int(line.split()[1]) for line in lines[2:-1]] == [1, 2]


@pytest.mark.parametrize(
    ("model", "n", "solver"),
    [
        (NCA(2), 9_000, "lbfgs"),
        (NCA(2), 10_000, "stochastic"),
        (NCA(2, objective="log"), 6_000, "lbfgs"),
        (NCA(2, objective="log"), 7_000, "stochastic"),
        (NCA(2, solver="cg"), 10_000, "cg"),
        (NCA(2, n_neighbors=5), 10_000, "lbfgs"),
        (NCARegressor(2, alpha=0.0), 7_000, "stochastic"),
    ],
)
def test_auto_chooses_by_size(
    model: Any, n: int, solver: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 3))
    model.set_params(max_iter=1, verbose=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points, points[:, 0] > 0)
    assert f"solver {solver}" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    "parameters",
    [{"anneal": True}, {"n_neighbors": 5}, {"n_neighbors": "auto"}],
)
def test_what_does_not_go_together(parameters: dict[str, Any]) -> None:
    nca = NCA(2, solver="stochastic", **parameters)
    before = dict(vars(nca))
    with pytest.raises(ValueError, match="cannot be combined with"):
        nca.fit(X, y)
    assert vars(nca) == before


@pytest.mark.parametrize(
    "parameters",
    [
        {"batch_size": 0},
        {"batch_size": "all"},
        {"n_references": -1},
        {"n_references": 2.5},
        {"n_neighbors": 0},
        {"n_neighbors": "some"},
    ],
)
def test_wrong_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter"):
        NCA(2, **parameters).fit(X, y)


@pytest.mark.filterwarnings("ignore:y has one class only")
@pytest.mark.parametrize(
    "case", ["all equal", "zero map", "one class", "lone points", "constant column"]
)
@pytest.mark.parametrize("objective", KINDS)
def test_awkward_data(case: str, objective: str) -> None:
    points, labels = X[:200].copy(), y[:200].copy()
    init: Any = "pca"
    if case == "all equal":
        points[:] = 1.0
    elif case == "zero map":
        init = np.zeros((2, 10))
    elif case == "one class":
        labels[:] = 0
    elif case == "lone points":
        labels[:90] = 10 + np.arange(90)
    else:
        points[:, 3] = 7.0
    nca = NCA(2, init=init, objective=objective, **{**QUICK, "max_iter": 2})
    nca.fit(points, labels)
    assert np.isfinite(nca.components_).all()
    assert np.isfinite(nca.objective_curve_).all()


@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_hardly_any_rows(n: int) -> None:
    labels = np.arange(n) % 2
    nca = NCA(1, init="pca", **{**QUICK, "max_iter": 1}).fit(X[:n], labels)
    assert np.isfinite(nca.components_).all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("D", [10, 120])
def test_any_scale_in_float32(scale: float, D: int) -> None:
    points, labels = planted(300, D=D)
    points = (points * scale).astype(np.float32)
    nca = NCA(2, init="pca", **{**QUICK, "max_iter": 1}).fit(points, labels)
    assert nca.components_.dtype == np.float32
    assert np.isfinite(nca.components_).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", [NCA, NCAClassifier])
def test_memory_mapped_input_is_not_copied(model: type[NCA], tmp_path: Path) -> None:
    n, D = 100_000, 100
    mapped = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(n, D))
    rng = np.random.default_rng(0)
    for start in range(0, n, 5000):
        mapped[start : start + 5000] = rng.normal(size=(5000, D))
    labels = rng.integers(3, size=n)
    model(2, **{**QUICK, "max_iter": 1}).fit(mapped[:300], labels[:300])  # compiles
    read_only = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=(n, D))
    tracemalloc.start()
    # One thread: each has a block of distances of its own.
    nca = model(2, init="lda", n_jobs=1, **{**QUICK, "max_iter": 1})
    nca.fit(read_only, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert nca.components_.dtype == np.float32
    assert peak < 0.5 * mapped.nbytes


# Weights are not repeated rows to the bit: the coordinates and what is drawn come from
# the rows, as for all stochastic solvers; `test_weights_are_counts` has how near it is.
CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(
        NCA(1, **{**QUICK, "max_iter": 2})
    )
    if "check_sample_weight_equivalence" not in str(check)
]


@ignore_convergence
@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: NCA, check: Any) -> None:
    check(estimator)
