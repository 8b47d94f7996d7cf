import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from tests.nca.data import X_TEST, Y_TEST, planted
from vicinal import NCA, NCAClassifier
from vicinal._typing import FloatArray, IntArray
from vicinal.nca import _partial_fit
from vicinal.nca._partial_fit import Reservoir
from vicinal.nca._stochastic import Preconditioner

X, y = planted(1500)
KINDS = ["expected", "log", "class-density"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows enough to fill the memory several times over, and quick steps."""
    monkeypatch.setattr("vicinal.nca._partial_fit.RESERVOIR_SIZE", 300)
    monkeypatch.setattr("vicinal.nca._partial_fit.BATCH_SIZE", 256)
    monkeypatch.setattr("vicinal.nca._partial_fit.N_REFERENCES", 256)


def learned(
    nca: NCA,
    points: FloatArray = X,
    labels: IntArray = y,
    size: int = 300,
    **given: Any,
) -> NCA:
    for start in range(0, len(points), size):
        piece = slice(start, start + size)
        nca.partial_fit(points[piece], labels[piece], **given)
    return nca


def accuracy(nca: NCA) -> float:
    knn = KNeighborsClassifier(5).fit(nca.transform(X), y)
    return float(knn.score(nca.transform(X_TEST), Y_TEST))


@pytest.mark.parametrize("objective", KINDS)
def test_learns_nearly_as_well_as_from_all_at_once(objective: str) -> None:
    settings: dict[str, Any] = {"objective": objective, "random_state": 0}
    nca = learned(NCA(2, init="pca", **settings))
    whole = NCA(2, solver="stochastic", max_iter=10, init="pca", **settings).fit(X, y)
    assert accuracy(whole) > 0.9
    assert accuracy(nca) > accuracy(whole) - 0.02
    assert len(nca.objective_curve_) == nca.n_iter_ + 1
    assert nca.effective_neighbors_.shape == (300,)
    assert nca.n_features_in_ == 10


def test_each_piece_helps() -> None:
    nca = NCA(2, init="pca", random_state=0)
    scores = []
    for start in (0, 150, 300):
        learned(nca, X[start : 4 * start + 150], y[start : 4 * start + 150], size=150)
        scores.append(accuracy(nca))
    assert scores[-1] > scores[0]


@pytest.mark.parametrize("objective", ["expected", "log"])
def test_pieces_sorted_by_class(objective: str) -> None:
    order = np.argsort(y, kind="stable")
    nca = NCA(2, init="pca", objective=objective, random_state=0)
    learned(nca, X[order], y[order], classes=np.arange(5))
    # Twice, as the first piece of a class has nobody to be told from.
    learned(nca, X[order], y[order])
    assert accuracy(nca) > 0.9


def test_a_first_piece_of_one_class() -> None:
    nca = NCA(2, random_state=0)
    nca.partial_fit(X[y == 0], y[y == 0], classes=np.arange(5))
    assert np.isfinite(nca.components_).all()
    learned(nca)
    assert accuracy(nca) > 0.9


def test_a_small_first_piece() -> None:
    nca = NCA(2, random_state=0)
    nca.partial_fit(X[:10], y[:10], classes=np.arange(5))
    learned(nca, X[10:], y[10:])
    assert accuracy(nca) > 0.9


@pytest.mark.parametrize("first", ["one class", "few rows"])
def test_a_first_piece_does_not_decide_on_directions_alone(first: str) -> None:
    # What tells classes 0 and 1 apart has no variance to speak of inside a class.
    rng = np.random.default_rng(0)
    D = 120
    labels = rng.integers(2, size=1500)
    points = rng.normal(size=(1500, D)) * np.repeat([1.0, 0.01], [10, D - 10])
    points[:, -1] += 0.1 * labels
    piece = labels == 0 if first == "one class" else np.arange(1500) < 40
    nca = NCA(2, init="pca", random_state=0)
    nca.partial_fit(points[piece], labels[piece], classes=[0, 1])
    assert nca._pieces.preconditioner.projection is None
    learned(nca, points, labels, size=500)
    Z = nca.transform(points)
    knn = KNeighborsClassifier(5).fit(Z[:1000], labels[:1000])
    assert knn.score(Z[1000:], labels[1000:]) > 0.9


def test_a_large_first_piece_may_leave_directions_out() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=1300)
    latent = 4 * np.eye(3)[labels] + rng.normal(size=(1300, 3))
    points = latent @ rng.normal(size=(3, 120)) + 0.01 * rng.normal(size=(1300, 120))
    nca = NCA(2, random_state=0).partial_fit(points, labels)
    assert nca._pieces.preconditioner.projection is not None
    assert nca.components_.shape == (2, 120)


def vars_of(nca: NCA) -> dict[str, Any]:
    return dict(vars(nca))


def test_bad_pieces_change_nothing() -> None:
    nca = NCA(2, random_state=0)
    before = vars_of(nca)
    with pytest.raises(ValueError, match=r"labels \[4\], which are not among"):
        nca.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="NaN"):
        nca.partial_fit(np.where(X > 5, np.nan, X), y)
    assert vars_of(nca) == before

    few = y < 3
    nca.partial_fit(X[few][:300], y[few][:300])
    before = vars_of(nca)
    with pytest.raises(ValueError, match=r"labels \[3, 4\].* as classes="):
        nca.partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="X has 9 features, but NCA is expecting 10"):
        nca.partial_fit(X[few][:100, :9], y[few][:100])
    with pytest.raises(ValueError, match="NaN"):
        nca.partial_fit(np.where(X > 5, np.nan, X)[few], y[few])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        nca.partial_fit(X[:10], y[:9])
    with pytest.raises(ValueError, match="0 sample"):
        nca.partial_fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="Unknown label type"):
        nca.partial_fit(X[:10], X[:10, 0])
    assert vars_of(nca) == before
    nca.partial_fit(X[few][300:400], y[few][300:400])
    assert nca.n_iter_ > before["n_iter_"]


@pytest.mark.parametrize("parameter", ["anneal", "early_stopping"])
def test_what_does_not_go_together(parameter: str) -> None:
    with pytest.raises(ValueError, match=f"cannot be combined with {parameter}=True"):
        NCA(2, **{parameter: True}).partial_fit(X, y)  # type: ignore[arg-type]


def test_one_row_at_a_time() -> None:
    nca = NCA(2, random_state=0).partial_fit(X[:100], y[:100], classes=np.arange(5))
    for i in range(100, 105):
        nca.partial_fit(X[i : i + 1], y[i : i + 1])
    assert nca._pieces.n_seen == 105
    assert np.isfinite(nca.components_).all()


def test_the_memory_is_a_fair_sample_of_all_rows() -> None:
    rows = np.arange(3000.0)[:, None]
    preconditioner = Preconditioner.find(rows, None, 1, False, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    kept = np.zeros(3000)
    for _ in range(120):
        pieces = Reservoir.begin(preconditioner, rows, np.arange(1))
        for part in np.split(rows, [50, 700, 1500, 1600, 2900]):
            pieces = pieces.with_piece(part, part[:, 0].astype(int), rng).trimmed()
            assert len(pieces.X) == min(300, pieces.n_seen)
        assert pieces.n_seen == 3000
        np.testing.assert_array_equal(pieces.codes, pieces.X[:, 0])
        assert len(np.unique(pieces.codes)) == 300
        kept[pieces.codes] += 1
    # Of 30 blocks of 100 rows each expects 120 · 300 / 30 = 1200; σ is below √1200.
    blocks = kept.reshape(30, 100).sum(axis=1)
    assert np.abs(blocks - 1200).max() < 4 * np.sqrt(1200)


def test_no_more_is_remembered_than_allowed() -> None:
    nca = learned(NCAClassifier(2, random_state=0))
    assert len(nca._pieces.X) == len(nca._pieces.codes) == 300
    assert nca._pieces.n_seen == 1500
    assert nca._points.shape == (300, 2)


def test_only_new_rows_ask_for_neighbours_unless_they_are_few() -> None:
    preconditioner = Preconditioner.find(X, y, 2, False, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    pieces = Reservoir.begin(preconditioner, X, np.unique(y)).with_piece(
        X[:700], y[:700], rng
    )
    few = pieces.with_piece(X[700:730], y[700:730], rng).optimizer(
        30, (None, None), 0.0, 0
    )
    assert few.pool == slice(730 - 512, None)
    pieces = pieces.with_piece(X[700:1300], y[700:1300], rng)
    climb = pieces.optimizer(600, (None, None), 0.0, 0)
    assert climb.pool == slice(700, None)
    assert few.step < climb.step <= 1
    later = Reservoir(
        preconditioner, X, y, rng.random(1500), np.unique(y), n_seen=10**6
    ).optimizer(600, (None, None), 0.0, 0)
    assert later.step < climb.step
    assert few.warmup_fraction == 1
    assert later.warmup_fraction == 0
    much = 4 * _partial_fit.RESERVOIR_SIZE
    for n_seen, fraction in ((much - 1, 1), (much, 0)):
        reservoir = Reservoir(
            preconditioner, X, y, rng.random(1500), np.unique(y), n_seen=n_seen
        )
        found = reservoir.optimizer(600, (None, None), 0.0, 0)
        assert found.warmup_fraction == fraction


def test_a_small_first_piece_does_not_settle_the_coordinates() -> None:
    units = np.logspace(-3, 3, X.shape[1])
    nca = NCA(2, random_state=0).partial_fit(X[:6] * units, y[:6], classes=range(5))
    learned(nca, X[6:] * units, y[6:])
    assert nca._pieces.n_framed > len(X) / 2
    assert nca._pieces.preconditioner.rows.max() > 6


@pytest.mark.parametrize(
    "parameters",
    [{"n_neighbors": 5}, {"n_components": "auto"}, {"anneal": "magnitude"}],
)
def test_what_partial_fit_does_not_go_with(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="partial_fit cannot be combined with"):
        NCA(**parameters).partial_fit(X, y)


def test_fit_forgets_the_pieces() -> None:
    nca = NCA(2, random_state=0, solver="lbfgs", max_iter=300, tol=1e-3)
    alone = clone(nca).fit(X[:200], y[:200])
    learned(nca, X[:600], y[:600]).fit(X[:200], y[:200])
    np.testing.assert_array_equal(nca.components_, alone.components_)
    assert not hasattr(nca, "_pieces")
    # And from there on, another number of features and other classes are no error.
    nca.partial_fit(X[:200, :5], y[:200] + 7)
    assert nca.components_.shape == (2, 5)


def test_pickled_between_pieces() -> None:
    nca = learned(NCA(2, random_state=0), X[:600], y[:600])
    copy = pickle.loads(pickle.dumps(nca))
    for other in (nca, copy):
        learned(other, X[600:1200], y[600:1200])
    np.testing.assert_array_equal(nca.components_, copy.components_)


def test_seeds() -> None:
    first, again, other = (
        learned(NCA(2, random_state=seed), X[:600], y[:600]) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.components_, again.components_)
    np.testing.assert_array_equal(first.objective_curve_, again.objective_curve_)
    assert not np.allclose(first.components_, other.components_)


def test_the_classifier_predicts_from_what_is_remembered() -> None:
    names = np.array(["a", "b", "c", "d", "e"])
    model = NCAClassifier(2, random_state=0)
    learned(model, X, names[y])
    np.testing.assert_array_equal(model.classes_, names)
    assert model.score(X_TEST, names[Y_TEST]) > 0.9
    np.testing.assert_allclose(model.predict_proba(X_TEST).sum(axis=1), 1)


def test_diagonal() -> None:
    rng = np.random.default_rng(2)
    points, labels = rng.normal(size=(900, 6)), rng.integers(3, size=900)
    points[:, 2] += 3 * labels
    nca = learned(NCA(form="diagonal", random_state=0), points, labels)
    assert nca.feature_weights_.argmax() == 2
    np.testing.assert_array_equal(nca.components_, np.diag(nca.feature_weights_))


def test_float32_stays() -> None:
    nca = learned(NCA(2, random_state=0), X[:600].astype(np.float32), y[:600])
    nca.partial_fit(X[600:700], y[600:700])
    assert nca.components_.dtype == np.float32
    assert nca._pieces.X.dtype == np.float32


def test_the_unit_of_the_data_does_not_matter() -> None:
    plain = learned(NCA(2, init="pca", random_state=0), X[:900], y[:900])
    scaled = learned(NCA(2, init="pca", random_state=0), 1e3 * X[:900], y[:900])
    np.testing.assert_allclose(1e3 * scaled.components_, plain.components_, rtol=1e-3)


def test_probabilities_have_a_column_for_each_class_from_the_first_piece_on() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = NCAClassifier(2, random_state=0)
    model.partial_fit(X[:30], np.repeat([0, 2], 15), classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (60, 3)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], 0)
    model.partial_fit(X[30:], np.repeat([1, 2], 15))
    assert model.predict_proba(X).shape == (60, 3)
    assert model.predict_proba(X)[:, 1].max() > 0
