import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax, softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.ldg.oracles import frequencies, gaussians_around, local_qda_scores
from vicinal import LocalQDA
from vicinal._typing import FloatArray, IntArray
from vicinal.ldg import SmallClassesWarning, leave_one_out_error
from vicinal.ldg.local_gaussians import ClassPoints
from vicinal.ldg.selection import Sample, choose_n_neighbors

X, y = load_iris(return_X_y=True)
# Iris has many points at equal distances, and nearest is then whatever comes first.
untied = X + np.random.default_rng(0).normal(size=X.shape) / 100
ignore_small_classes = pytest.mark.filterwarnings("ignore:These classes have too few")


@ignore_small_classes
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for qda in (LocalQDA(), LocalQDA(20))
        for pair in estimator_checks_generator(qda)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: LocalQDA, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("k", [2, 5, 40])
def test_scores_are_the_papers(k: int) -> None:
    rng = np.random.default_rng(0)
    queries = X[::7] + rng.normal(size=X[::7].shape) / 3
    qda = LocalQDA(k).fit(X, y)
    scores = local_qda_scores(X, y, queries, k, qda.var_floor)
    np.testing.assert_allclose(qda.predict_proba(queries), softmax(scores, axis=1))
    np.testing.assert_allclose(
        qda.predict_log_proba(queries), log_softmax(scores, axis=1), rtol=1e-6
    )
    np.testing.assert_array_equal(qda.predict(queries), scores.argmax(axis=1))


def test_priors_move_the_odds_and_nothing_else() -> None:
    even = LocalQDA(8).fit(X, y).predict_log_proba(X)
    qda = LocalQDA(8, class_prior=[2, 2, 4]).fit(X, y)
    np.testing.assert_allclose(qda.class_prior_, [0.25, 0.25, 0.5])
    tilted = qda.predict_log_proba(X)
    moved = (tilted[:, 2] - tilted[:, 1]) - (even[:, 2] - even[:, 1])
    np.testing.assert_allclose(moved, np.log(2), rtol=1e-6)


def choice_by_hand(points: FloatArray, labels: IntArray, folds: IntArray) -> int:
    right = {}
    for k in (4, 8, 16, 32, 64):
        right[k] = 0
        for fold in range(5):
            held = folds == fold
            scores = local_qda_scores(
                points[~held], labels[~held], points[held], k, 1e-9
            )
            right[k] += (scores.argmax(axis=1) == labels[held]).sum()
    return max(right, key=lambda k: (right[k], k))


def test_the_choice_of_k(monkeypatch: pytest.MonkeyPatch) -> None:
    points, labels = load_wine(return_X_y=True)
    points = scale(points)[:, :5] + 0.5
    folds = np.arange(len(labels)) % 5
    monkeypatch.setattr(
        "vicinal.ldg.selection.held_out",
        lambda *_: (folds == fold for fold in range(5)),
    )
    priors, random_state = np.bincount(labels) / len(labels), np.random.RandomState(0)
    chosen = choose_n_neighbors(
        Sample(points, labels, priors, 1e-9, 5, random_state, 1)
    )
    # The largest class has 71 rows: 64 is tried, with what the folds leave of it.
    assert chosen == choice_by_hand(points, labels, folds)


def test_the_choice_is_kept_and_only_what_fits_is_tried() -> None:
    assert LocalQDA(random_state=0).fit(X, y).n_neighbors_ in (4, 8, 16, 32)
    assert LocalQDA(random_state=0).fit(X[::10], y[::10]).n_neighbors_ == 4
    assert LocalQDA(7).fit(X, y).n_neighbors_ == 7


def test_ties_go_to_the_largest() -> None:
    far_apart = np.r_[np.zeros(40), np.full(40, 1e3)] + np.arange(80) % 7
    labels = np.repeat([0, 1], 40)
    qda = LocalQDA(random_state=0).fit(far_apart[:, None], labels)
    assert qda.n_neighbors_ == 32


def test_many_rows_choose_on_some_of_every_class() -> None:
    codes = np.r_[np.zeros(9000, dtype=int), np.ones(999, dtype=int), 2]
    subset = ClassPoints.build(np.arange(10_000.0)[:, None], codes, 1.0)
    sample = Sample.draw(subset, np.ones(3) / 3, 1, np.random.RandomState(0), 1)
    assert np.all(np.diff(sample.points[:, 0]) > 0)
    assert np.bincount(sample.codes).tolist() == [2700, 300, 1]


def test_it_is_worth_having() -> None:
    points, labels = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LocalQDA()),
        {"localqda__n_neighbors": [4, 16]},
    ).fit(points, labels)
    assert search.best_score_ > 0.95


def test_clone_pickle_float32_and_threads() -> None:
    single = untied.astype(np.float32)
    qda = LocalQDA(9, n_jobs=2).fit(single, y)
    proba = qda.predict_proba(single)
    assert proba.dtype == np.float32
    copy = pickle.loads(pickle.dumps(qda))
    np.testing.assert_array_equal(copy.predict_proba(single), proba)
    np.testing.assert_allclose(
        clone(qda).set_params(n_jobs=1).fit(untied, y).predict_proba(untied),
        proba,
        atol=1e-3,
    )


def test_classes_of_few_rows() -> None:
    labels = y.copy()
    labels[:2], labels[2] = 7, 8
    with pytest.warns(UserWarning, match=r"to give each point 5 neighbors: 7 \(2\)"):
        qda = LocalQDA(5).fit(X, labels)
    assert np.isfinite(qda.predict_log_proba(X)).all()
    with pytest.warns(UserWarning, match=r"4 neighbors: 7 \(2\), 8 \(1\)") as caught:
        qda = LocalQDA(random_state=0).fit(X, labels)
    assert caught[0].filename == __file__
    assert np.isfinite(qda.predict_log_proba(X)).all()


@pytest.mark.parametrize("scale_of_all", [1e-30, 1e30, 1e60])
def test_any_scale(scale_of_all: float) -> None:
    scaled = untied * scale_of_all
    expected = LocalQDA(8).fit(untied, y).predict_proba(untied)
    found = LocalQDA(8).fit(scaled, y).predict_proba(scaled)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_equal_points() -> None:
    qda = LocalQDA(4).fit(np.ones((20, 3)), np.repeat(["a", "b"], [15, 5]))
    np.testing.assert_allclose(qda.predict_proba(np.ones((1, 3))), [[0.75, 0.25]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"n_neighbors": "loo"}, "'n_neighbors' parameter"),
        ({"class_prior": [0.5, 0.5]}, "each of the 3 classes"),
        ({"class_prior": [0.5, 0.5, 0]}, "positive throughout"),
        ({"var_floor": 0.0}, "'var_floor' parameter"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_wrong_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LocalQDA(**parameters).fit(X, y)  # type: ignore[arg-type]


def test_wrong_data() -> None:
    with pytest.raises(ValueError, match="only one class"):
        LocalQDA().fit(X[:50], y[:50])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        LocalQDA().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="NaN"):
        LocalQDA().fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="3 features"):
        LocalQDA(4).fit(X, y).predict(X[:, :3])


@pytest.mark.parametrize("n_components", [None, 1, 2])
def test_the_leave_one_out_error_is_equation_1(n_components: int | None) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [30, 20, 9, 1])
    X = rng.normal(size=(60, 4)) + 1.2 * np.eye(4)[y]
    B = np.eye(4) if n_components is None else rng.normal(size=(4, n_components))
    deltas, variances, there = gaussians_around(X, y, 5, 1e-3)
    prior, wrong = frequencies(y), 0
    for i in range(60):
        scores = [
            multivariate_normal.logpdf(
                B.T @ deltas[i, j], cov=B.T @ B * variances[i, j]
            )
            + np.log(prior[j])
            if there[i, j]
            else -np.inf
            for j in range(4)
        ]
        wrong += scores[y[i]] < max(scores)
    given = None if n_components is None else B.T
    with pytest.warns(SmallClassesWarning):
        error = leave_one_out_error(X, y, given, n_neighbors=5)
    assert 0 < wrong < 60
    assert error == wrong / 60
