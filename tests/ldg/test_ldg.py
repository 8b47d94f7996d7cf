import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import ortho_group
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.ldg.oracles import (
    equation_4,
    ldg_scatters,
    leave_one_out_3nn,
    nearest_3nn,
)
from vicinal import LDG
from vicinal._typing import FloatArray
from vicinal.base.selection import (
    held_out,
    one_standard_error_choice,
    sample_of_classes,
)
from vicinal.ldg.selection import grow_dimension

X_wine, y = load_wine(return_X_y=True)
X = scale(X_wine)
FIXED: dict[str, Any] = {"n_neighbors": 8, "gamma": 0.6}
ignore_warnings = pytest.mark.filterwarnings(
    "ignore:These classes have too few",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


@ignore_warnings
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for ldg in (LDG(), LDG(1, n_neighbors=5, gamma=0.5, refine=True))
        for pair in estimator_checks_generator(ldg)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: LDG, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("gamma", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("k", [1, 8, 40])
def test_components_are_the_papers_eigenvectors(k: int, gamma: float) -> None:
    ldg = LDG(13, n_neighbors=k, gamma=gamma).fit(X, y)
    V, A = ldg_scatters(X, y, k, ldg.var_floor)
    values, vectors = np.linalg.eigh(V - gamma * A)
    np.testing.assert_allclose(ldg.eigenvalues_, values, rtol=1e-7, atol=1e-7)
    cosines = np.abs(np.einsum("ij,ji->i", ldg.components_, vectors))
    np.testing.assert_allclose(cosines, 1, rtol=1e-6)


def test_no_orthonormal_map_has_less_of_equation_4() -> None:
    ldg = LDG(3, n_neighbors=6, gamma=1.0).fit(X, y)
    least = equation_4(X, y, ldg.components_.T, 6, ldg.var_floor)
    assert least == pytest.approx(ldg.eigenvalues_.sum() / 2)
    for seed in range(2):
        other = ortho_group.rvs(13, random_state=seed)[:, :3]
        assert equation_4(X, y, other, 6, ldg.var_floor) > least


@settings(max_examples=25, deadline=None)
@given(
    st.integers(12, 60), st.integers(1, 70), st.integers(2, 4),
    st.integers(1, 9), st.floats(0, 2), st.integers(0, 10**6),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:These classes have too few")
def test_components_are_orthonormal_ordered_and_nested(
    n: int, d: int, n_classes: int, k: int, gamma: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.normal(size=(n, d)), np.arange(n) % n_classes
    ldg = LDG(n_neighbors=k, gamma=gamma).fit(points, labels)
    rank = min(d, n - 1)
    full = clone(ldg).set_params(n_components=rank).fit(points, labels)
    A = full.components_
    np.testing.assert_allclose(A @ A.T, np.eye(rank), atol=1e-9)
    assert np.all(np.diff(full.eigenvalues_) >= -1e-9 * np.abs(full.eigenvalues_).max())
    np.testing.assert_allclose(ldg.components_, A[: ldg.n_components_], atol=1e-6)


def test_set_n_components() -> None:
    ldg = LDG(2, **FIXED).fit(X, y)
    for d in (5, 13, 1):
        assert ldg.set_n_components(d) is ldg
        other = LDG(d, **FIXED).fit(X, y)
        np.testing.assert_array_equal(ldg.components_, other.components_)
        np.testing.assert_array_equal(ldg.eigenvalues_, other.eigenvalues_)
        assert ldg.transform(X).shape == (178, d)
        assert len(ldg.get_feature_names_out()) == d == ldg.n_components_
    for impossible in (0, 14):
        with pytest.raises(ValueError, match="n_components"):
            ldg.set_n_components(impossible)


def scores_of(points: FloatArray, **parameters: Any) -> FloatArray:
    """Return what does not depend on signs: squared coordinates of the mapped."""
    Z = LDG(4, **{**FIXED, **parameters}).fit(points, y).transform(points)
    return np.square(Z - Z.mean(axis=0))


def test_moving_turning_and_scaling_the_points_changes_nothing() -> None:
    expected = scores_of(X)
    turn = ortho_group.rvs(13, random_state=0)
    np.testing.assert_allclose(scores_of(X @ turn), expected, atol=1e-8)
    np.testing.assert_allclose(scores_of(X + 1e3), expected, atol=1e-6)
    np.testing.assert_allclose(scores_of(X * 7) / 49, expected, atol=1e-8)
    wide = np.hstack([X, np.zeros((178, 300))])  # by way of the rows' span
    np.testing.assert_allclose(scores_of(wide), expected, atol=1e-6)


def test_order_and_names_of_the_classes_change_nothing() -> None:
    order = np.random.default_rng(0).permutation(178)
    names = np.array(["z", "a", "m"])[y]
    expected = LDG(4, **FIXED).fit(X, y).components_
    shuffled = LDG(4, **FIXED).fit(X[order], y[order]).components_
    np.testing.assert_allclose(shuffled, expected, atol=1e-9)
    named = LDG(4, **FIXED).fit(X, names)
    np.testing.assert_allclose(named.components_, expected, atol=1e-9)
    assert named.classes_.tolist() == ["a", "m", "z"]


def test_wide_data_are_solved_in_their_span() -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(40, 90)), np.arange(40) % 3
    ldg = LDG(39, n_neighbors=5, gamma=1.0).fit(points, labels)
    V, A = ldg_scatters(points, labels, 5, ldg.var_floor)
    values, vectors = np.linalg.eigh(V - A)
    inside = np.abs(values) > 1e-8  # of the others the points know nothing
    assert inside.sum() == 39
    np.testing.assert_allclose(ldg.eigenvalues_, values[inside], rtol=1e-6)
    cosines = np.abs(np.einsum("ij,ji->i", ldg.components_, vectors[:, inside]))
    np.testing.assert_allclose(cosines, 1, rtol=1e-6)


@pytest.mark.parametrize("shape", [(60, 300), (120, 30)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_as_dense(shape: tuple[int, int], dtype: type) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random(shape) * (rng.random(shape) < 0.1)
    points = sparse.csr_array(dense.astype(dtype))
    labels = np.arange(shape[0]) % 2
    found = LDG(3, **FIXED).fit(points, labels)
    expected = LDG(3, **FIXED).fit(points.toarray(), labels)
    assert found.components_.dtype == dtype
    tolerance = 1e-8 if dtype == np.float64 else 2e-2
    np.testing.assert_allclose(found.components_, expected.components_, atol=tolerance)
    Z = found.transform(points)
    assert isinstance(Z, np.ndarray)
    np.testing.assert_allclose(
        Z, found.transform(points.toarray()), atol=1e-6 if dtype == np.float32 else 0
    )


def test_sparse_beyond_the_memory_that_may_be_used() -> None:
    points = sparse.csr_array((3000, 3000))
    # Nine million numbers of eight bytes, and four times 17 MiB may be used.
    with (
        config_context(working_memory=17),
        pytest.raises(ValueError, match=r"need 69 MiB.*TruncatedSVD"),
    ):
        LDG().fit(points, np.arange(3000) % 2)


def test_gamma_is_the_best_of_five_and_the_largest_of_equals() -> None:
    points = X[:, :6]
    scores = {}
    for gamma in (0.2, 0.4, 0.6, 0.8, 1.0):
        Z = LDG(6, n_neighbors=8, gamma=gamma).fit(points, y).transform(points)
        scores[gamma] = leave_one_out_3nn(Z, y)
    best = max(scores.values())
    expected = max(gamma for gamma in scores if scores[gamma] == best)
    assert LDG(n_neighbors=8).fit(points, y).gamma_ == expected


@pytest.mark.parametrize("gamma", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_auto_grows_until_accuracy_falls(gamma: float, n_threads: int) -> None:
    ldg = LDG(13, n_neighbors=8, gamma=gamma).fit(X, y)
    Z = ldg.transform(X)
    accuracies = [leave_one_out_3nn(Z[:, :d], y) for d in range(1, 14)]
    falls = np.flatnonzero(np.diff(accuracies) < 0)
    expected = falls[0] + 1 if len(falls) else 13
    assert grow_dimension(Z, y, n_threads) == expected
    grown = LDG("grow", n_neighbors=8, gamma=gamma).fit(X, y)
    assert grown.n_components_ == expected


def test_a_dimension_that_changes_nothing_is_taken() -> None:
    """Growing goes on at a tie, over all of them, and ends at the first fall."""
    Z = np.zeros((40, 9))
    labels = np.arange(40) % 2
    Z[:, 0] = 10 * labels + np.arange(40) / 40
    assert grow_dimension(Z, labels, 1) == 9
    for last in range(1, 8):  # in and at the ends of what is tried at once
        noisy = Z.copy()
        noisy[:, last] = 1e3 * np.random.default_rng(0).normal(size=40)
        assert grow_dimension(noisy, labels, 1) == last


def many_classes() -> tuple[FloatArray, NDArray[np.intp]]:
    """Return 60 classes that no few dimensions tell apart, in front of a dip."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 8)
    points = 2.5 * rng.normal(size=(60, 12))[labels]
    return points + rng.normal(size=points.shape), labels


def test_the_dimension_looks_past_a_dip() -> None:
    points, labels = many_classes()
    train, test = slice(0, None, 2), slice(1, None, 2)
    ldg = LDG(n_neighbors=3, gamma=1.0, random_state=0)
    ldg.fit(points[train], labels[train])
    knn = KNeighborsClassifier(3)
    Z, Z_test = ldg.transform(points[train]), ldg.transform(points[test])
    mapped = knn.fit(Z, labels[train]).score(Z_test, labels[test])
    plain = knn.fit(points[train], labels[train]).score(points[test], labels[test])
    assert mapped > plain - 0.02


def test_the_dimension_is_judged_by_enough_rows_of_each_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def sample(codes: Any, n_rows: int, random_state: Any) -> Any:
        asked.append(n_rows)
        return sample_of_classes(codes, n_rows, random_state)

    monkeypatch.setattr("vicinal.ldg.selection.sample_of_classes", sample)
    points, labels = many_classes()
    for n_classes in (2, 60):
        rows = labels < n_classes
        LDG(n_neighbors=3, gamma=1.0).fit(points[rows], labels[rows])
    # For k and gamma, and for the dimension.
    assert asked == [3000, 1500, 3000, 1800]


def test_fewer_dimensions_have_to_be_better_than_all() -> None:
    rng = np.random.default_rng(0)
    # Every feature tells something: no few dimensions are as good as all.
    labels = rng.integers(0, 2, size=300)
    points = rng.normal(size=(300, 8)) + 0.8 * labels[:, None]
    points[:, 1:] *= np.where(rng.random((300, 7)) < 0.5, -1, 1)
    noise = np.hstack([scale(X), rng.normal(size=(178, 40))])
    assert LDG(random_state=0).fit(noise, y).n_components_ < 20
    chance = rng.integers(0, 2, size=60)
    aimless = [
        LDG(random_state=seed, n_neighbors=4).fit(points[:60], chance).n_components_
        for seed in range(5)
    ]
    assert np.median(aimless) == 8  # nothing to learn: the Euclidean distance


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_dimension_is_chosen_on_rows_held_out(n_jobs: int) -> None:
    order = np.argsort(y, kind="stable")
    points, codes = X[order], y[order]
    hits = []
    # Other draws come before: k and gamma are given, no row is left aside.
    for held in held_out(codes, np.random.RandomState(5)):
        fold = LDG(13, **FIXED).fit(points[~held], codes[~held])
        Z, Z_held = fold.transform(points[~held]), fold.transform(points[held])
        hits.append(
            [
                np.equal(
                    nearest_3nn(Z_held[:, :d], Z[:, :d], codes[~held]), codes[held]
                )
                for d in range(1, 14)
            ]
        )
    expected = one_standard_error_choice(np.concatenate(hits, axis=1), -1) + 1
    ldg = LDG(**FIXED, random_state=5, n_jobs=n_jobs).fit(X, y)
    assert abs(ldg.n_components_ - expected) <= 1  # priors are those of all rows


@pytest.mark.parametrize("small", [1e-6, 1e-7])
@pytest.mark.parametrize("collinear", [False, True])
def test_a_small_unit_is_no_reason_to_drop_a_feature(
    small: float, collinear: bool
) -> None:
    units = np.where(np.isin(np.arange(13), [3, 7]), small, 1.0)
    points = X * units
    if collinear:
        points = np.hstack([points, points[:, :2] @ [[1.0], [2.0]]])
    d = points.shape[1] - collinear
    ldg = LDG(d, **FIXED).fit(points, y)
    V, A = ldg_scatters(points, y, 8, ldg.var_floor)
    values, vectors = np.linalg.eigh(V - 0.6 * A)
    if collinear:  # the direction that no row varies in is not among ours
        nowhere = np.append(np.array([1.0, 2.0, *np.zeros(11)]), -1.0) / np.sqrt(6)
        kept = np.abs(vectors.T @ nowhere) < 0.5
        values, vectors = values[kept], vectors[:, kept]
        # Its eigenvalue is as near to 0 as those of the small features.
        span = vectors[:, np.abs(values) > 1e-6]
        components = ldg.components_[np.abs(ldg.eigenvalues_) > 1e-6]
        cosines = np.linalg.svd(components @ span)[1]
        np.testing.assert_allclose(cosines, 1, rtol=1e-6)
        np.testing.assert_allclose(ldg.components_ @ nowhere, 0, atol=1e-6)
        return
    cosines = np.abs(np.einsum("ij,ji->i", ldg.components_, vectors))
    np.testing.assert_allclose(cosines, 1, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_units_in_a_wide_table(dtype: Any) -> None:
    """Eight features of unit 1 do not span what twenty rows do; the others must."""
    rng = np.random.default_rng(0)
    units = np.where(np.arange(30) < 8, 1.0, 1e-7)
    points = (rng.normal(size=(20, 30)) * units).astype(dtype)
    ldg = LDG(15, n_neighbors=4, gamma=0.6).fit(points, np.arange(20) % 3)
    wide = points.astype(np.float64)
    axes = np.linalg.svd(wide - wide.mean(axis=0), full_matrices=False)[2][:19]
    inside = np.linalg.norm(ldg.components_ @ axes.T, axis=1)
    np.testing.assert_allclose(inside, 1, rtol=1e-5)  # no arbitrary directions
    assert len(ldg._kept_components) == 19


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_feature_that_varies_by_rounding_alone_is_no_direction(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    points = np.hstack([X, np.full((178, 1), 0.3)]).astype(dtype)
    points[:, 13] = np.where(
        rng.random(178) < 0.5, np.nextafter(dtype(0.3), dtype(1)), points[:, 13]
    )
    ldg = LDG(13, n_neighbors=8, gamma=0.1).fit(points, y)
    np.testing.assert_allclose(ldg.components_[:, 13], 0, atol=1e-6)


def test_choices_on_some_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    points, labels = make_classification(
        1500, 8, n_informative=3, random_state=0, n_classes=2
    )
    monkeypatch.setattr("vicinal.ldg.selection.MOST_ROWS", 400)
    ldg = LDG(random_state=0).fit(points, labels)
    again = LDG(random_state=0, n_jobs=2).fit(points, labels)
    np.testing.assert_array_equal(ldg.components_, again.components_)
    knn = KNeighborsClassifier(3)
    knn.fit(ldg.transform(points[::2]), labels[::2])
    reduced = knn.score(ldg.transform(points[1::2]), labels[1::2])
    knn.fit(points[::2], labels[::2])
    assert reduced > knn.score(points[1::2], labels[1::2])


def test_the_seed_decides_the_choices() -> None:
    noise = np.random.default_rng(0).normal(size=(60, 6))
    labels = np.arange(60) % 2

    def choices(random_state: int | None, dtype: str = "f8") -> tuple[int, float, int]:
        ldg = LDG(random_state=random_state).fit(noise.astype(dtype), labels)
        return ldg.n_neighbors_, ldg.gamma_, ldg.n_components_

    assert choices(0) == choices(0) == choices(0, "f4")
    assert len({choices(None) for _ in range(20)}) > 1


def test_it_helps_nearest_neighbours() -> None:
    noisy = np.hstack([X, np.random.default_rng(0).normal(size=(178, 60))])
    knn = KNeighborsClassifier(3)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LDG(random_state=0), knn),
        {"ldg__refine": [False]},
    ).fit(noisy, y)
    assert search.best_score_ > 0.85


def test_clone_pickle_frames_and_metric() -> None:
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)])
    ldg = LDG(2, **FIXED).set_output(transform="pandas").fit(frame, y)
    assert ldg.transform(frame).columns.tolist() == ["ldg0", "ldg1"]
    copy = pickle.loads(pickle.dumps(ldg))
    np.testing.assert_array_equal(copy.components_, ldg.components_)
    assert copy.set_n_components(5).components_.shape == (5, 13)
    fresh = clone(ldg).fit(frame, y)
    np.testing.assert_array_equal(fresh.components_, ldg.components_)
    pairs = np.stack([X[:3], X[3:6]], axis=1)
    Z = np.asarray(ldg.transform(frame))
    np.testing.assert_allclose(
        ldg.pair_distance(pairs), np.linalg.norm(Z[:3] - Z[3:6], axis=1)
    )


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    LDG(2, **FIXED, verbose=1).fit(X, y)
    assert capsys.readouterr().out == (
        "[LDG] n_neighbors 8, gamma 0.6, n_components 2\n"
    )
    LDG(2, **FIXED).fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("shape", [(178, 13), (40, 64)])
def test_float32_stays_float32(shape: tuple[int, int]) -> None:
    if shape[1] == 13:
        points, labels = X, y
    else:
        points, labels = load_digits(n_class=3, return_X_y=True)
        points, labels = (
            points[:40] + 0.01 * np.arange(40 * 64).reshape(40, 64) % 0.7,
            labels[:40],
        )
    single = LDG(3, **FIXED).fit(points.astype(np.float32), labels)
    double = LDG(3, **FIXED).fit(points, labels)
    assert single.components_.dtype == single.transform(points.astype("f")).dtype
    assert single.components_.dtype == np.float32
    assert single.transform(points).dtype == np.float64
    np.testing.assert_allclose(single.components_, double.components_, atol=5e-3)


def test_any_layout_of_memory(tmp_path: Path) -> None:
    expected = LDG(2, **FIXED).fit(X, y).components_
    read_only = X.copy()
    read_only.flags.writeable = False
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    for points in (read_only, mapped, strided, np.asfortranarray(X)):
        found = LDG(2, **FIXED).fit(points, y).components_
        np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(read_only, X)


def test_priors_weigh_the_classes() -> None:
    iris, labels = load_iris(return_X_y=True)
    same = LDG(2, **FIXED).fit(iris, labels).components_
    even = LDG(2, **FIXED, class_prior=[5, 5, 5]).fit(iris, labels).components_
    np.testing.assert_allclose(even, same, atol=1e-9)
    uniform = LDG(2, **FIXED, class_prior=None).fit(iris, labels).components_
    np.testing.assert_allclose(uniform, same, atol=1e-9)
    other = LDG(2, **FIXED, class_prior=[0.9, 0.05, 0.05]).fit(iris, labels).components_
    assert not np.allclose(other, same, atol=0.01)
