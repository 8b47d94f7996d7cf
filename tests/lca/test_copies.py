"""Rows that occur more than once: by accident, or by nature."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from tests.lca.oracles import log_normals
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.lca.data import DuplicateRows, ScaledData
from vicinal.lca.em import EMResult, Kernel

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(120, 3))
ROWS[:60, 0] += 6


def test_copies_are_found() -> None:
    order = rng.permutation(240)
    doubled = np.repeat(ROWS, 2, axis=0)[order]
    copies = DuplicateRows.of(doubled)
    assert copies is not None
    assert np.array_equal(doubled[copies.first][copies.group], doubled)
    assert (copies.counts == 2).all()
    assert (np.diff(copies.first) > 0).all()
    some = np.concatenate([ROWS, ROWS[:10], ROWS[:5]])
    copies = DuplicateRows.of(some)
    assert copies is not None
    assert copies.counts.tolist() == [3] * 5 + [2] * 5 + [1] * 110


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        rng.integers(5, size=(500, 3)).astype(float),
        np.where(rng.random((300, 1)) < 0.5, 0, rng.normal(size=(300, 2))),
        np.round(rng.normal(40, 12, size=(300, 1))),
        load_iris().data,
        np.repeat(ROWS[:4], 2, axis=0),
    ],
    ids=["none", "grid", "one row often", "whole numbers", "iris", "few"],
)
def test_rows_that_are_equal_by_nature_are_no_copies(rows: FloatArray) -> None:
    assert DuplicateRows.of(rows) is None


def test_iris_twice_is_known_for_what_it_is() -> None:
    assert DuplicateRows.of(np.repeat(load_iris().data, 2, axis=0)) is not None


@pytest.mark.parametrize("model", [LCA(), LCAGauss(), LCA("local")], ids=str)
def test_copies_do_not_change_what_is_learned(model: LCA | LCAGauss) -> None:
    once = model.fit(ROWS)
    components, scores = once.components_, once.score_samples(ROWS + 0.1)
    with pytest.warns(ConvergenceWarning, match="Only 120 of the 360 rows differ"):
        model.fit(np.repeat(ROWS, 3, axis=0))
    np.testing.assert_array_equal(model.components_, components)
    np.testing.assert_allclose(model.score_samples(ROWS + 0.1), scores)
    assert model.loo_score_samples_.shape == (360,)
    if hasattr(model, "covariances_"):
        assert len(model.covariances_) == 360


@pytest.mark.parametrize("form", ["full", "local"])
def test_a_row_is_left_out_with_its_copies(form: str) -> None:
    rows = np.concatenate([ROWS, ROWS[:40], ROWS[:3]])
    model = LCA(form).fit(rows)
    found = model._density.kernel_leave_one_out(1)
    every = model.covariances_ if form == "local" else model.covariance_
    for i in (0, 30, 100, 125):
        others = (rows != rows[i]).any(axis=1)
        covariance = every[others] if form == "local" else every
        terms = log_normals(rows[i], rows[others], covariance)
        assert found[i] == pytest.approx(np.log(np.mean(np.exp(terms))), rel=1e-6)
    np.testing.assert_allclose(
        model._density.kernel_leave_one_out(1, np.array([125, 3, 125])),
        found[[125, 3, 125]],
    )


def test_columns_of_few_values_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS, columns=["a", "b", "c"])
    table["level"] = rng.integers(3, size=120)
    with pytest.warns(
        ConvergenceWarning, match=r"few values of these columns: level\. The"
    ):
        LCA().fit(table)
    with pytest.warns(
        ConvergenceWarning, match=r"few values of these columns: 3\. The"
    ):
        LCAGauss().fit(table.to_numpy())


@pytest.mark.parametrize(
    ("n_columns", "listed"),
    [(5, "0, 1, 2, 3, 4"), (7, "0, 1, 2, 3, 4 and 2 more")],
)
def test_five_columns_of_few_values_are_named_at_most(
    n_columns: int, listed: str
) -> None:
    X = np.random.default_rng(1).integers(3, size=(60, n_columns)).astype(float)
    data = ScaledData.build(X, False, 1, (X, None))
    narrow = np.eye(n_columns) / 100
    kernel = Kernel(100 * np.eye(n_columns), narrow, n_columns, 0.0, 0.0, 0)
    message = rf"few values of these columns: {listed}\. The density"
    with pytest.warns(ConvergenceWarning, match=message):
        LCA()._warn_of_data(data, EMResult(kernel, narrow), np.ones(n_columns))
