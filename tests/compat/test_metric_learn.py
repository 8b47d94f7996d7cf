"""metric-learn's names run as its users' scripts call them."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

import vicinal.compat.metric_learn as metric_learn
from vicinal import classic
from vicinal.compat.metric_learn.base_metric import BaseMetricLearner

X, y = load_iris(return_X_y=True)
X = scale(X)
# Each class's parameters in metric-learn 0.7, in order.
PARAMETERS = {
    "Covariance": "preprocessor",
    "ITML": "gamma max_iter tol prior verbose preprocessor random_state "
    "convergence_threshold",
    "ITML_Supervised": "gamma max_iter tol n_constraints prior verbose preprocessor "
    "random_state num_constraints convergence_threshold",
    "LSML": "tol max_iter prior verbose preprocessor random_state",
    "LSML_Supervised": "tol max_iter prior n_constraints weights verbose preprocessor "
    "random_state num_constraints",
    "SDML": "balance_param sparsity_param prior verbose preprocessor random_state",
    "SDML_Supervised": "balance_param sparsity_param prior n_constraints verbose "
    "preprocessor random_state num_constraints",
    "NCA": "init n_components max_iter tol verbose preprocessor random_state",
    "LFDA": "n_components k embedding_type preprocessor",
    "LMNN": "init n_neighbors min_iter max_iter learn_rate regularization "
    "convergence_tol verbose preprocessor n_components random_state k",
    "RCA": "n_components preprocessor",
    "RCA_Supervised": "n_components n_chunks chunk_size preprocessor random_state "
    "num_chunks",
    "MLKR": "n_components init tol max_iter verbose preprocessor random_state",
    "MMC": "max_iter max_proj tol init diagonal diagonal_c verbose preprocessor "
    "random_state convergence_threshold",
    "MMC_Supervised": "max_iter max_proj tol n_constraints init diagonal diagonal_c "
    "verbose preprocessor random_state num_constraints convergence_threshold",
    "SCML": "beta basis n_basis gamma max_iter output_iter batch_size verbose "
    "preprocessor random_state",
    "SCML_Supervised": "k_genuine k_impostor beta basis n_basis gamma max_iter "
    "output_iter batch_size verbose preprocessor random_state",
}
SUPERVISED = [
    "ITML_Supervised", "LSML_Supervised", "SDML_Supervised", "NCA", "LFDA",
    "RCA_Supervised", "MMC_Supervised", "SCML_Supervised", "Covariance", "LMNN",
]  # fmt: skip


def make(name: str, **parameters: Any) -> Any:
    kind = getattr(metric_learn, name)
    if "random_state" in PARAMETERS[name].split():
        parameters.setdefault("random_state", 0)
    if name == "RCA_Supervised":
        parameters.setdefault("n_chunks", 30)
    return kind(**parameters)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_metric_learns(name: str) -> None:
    import inspect

    kind = getattr(metric_learn, name)
    assert list(inspect.signature(kind).parameters) == PARAMETERS[name].split()
    model = kind()
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("name", SUPERVISED)
def test_learning_from_labels(name: str) -> None:
    model = make(name).fit(X, y)
    assert model.transform(X).shape[0] == 150
    assert not hasattr(model, "predict")
    np.testing.assert_allclose(
        model.get_mahalanobis_matrix(), model.components_.T @ model.components_
    )
    pairs = X[[[0, 1], [0, 149]]]
    near, far = model.pair_distance(pairs)
    assert 0 < near < far
    np.testing.assert_allclose(model.pair_score(pairs), [-near, -far])
    assert model.get_metric()(X[0], X[149]) == pytest.approx(far)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.components_, model.components_)
    with pytest.warns(FutureWarning, match="score_pairs"):
        np.testing.assert_allclose(model.score_pairs(pairs), [near, far])


@pytest.mark.parametrize("name", SUPERVISED)
def test_indices_with_a_preprocessor(name: str) -> None:
    rows = np.arange(0, 150, 2)
    if name == "RCA_Supervised":
        rows = np.arange(150)
    expected = make(name).fit(X[rows], y[rows])
    for preprocessor in (X, lambda given: X[given]):
        model = make(name, preprocessor=preprocessor).fit(rows, y[rows])
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
        np.testing.assert_allclose(
            model.transform(rows), expected.transform(X[rows]), atol=1e-9
        )


def test_pipelines() -> None:
    for name in ("ITML_Supervised", "LFDA", "SCML_Supervised"):
        model = make_pipeline(make(name), KNeighborsClassifier(3))
        assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def pairs_of(n: int = 80) -> tuple[Any, Any, Any]:
    constraints = metric_learn.Constraints(y)
    drawn = constraints.positive_negative_pairs(n, random_state=0)
    points, labels = metric_learn.wrap_pairs(X, drawn)
    rows = np.vstack([np.column_stack(drawn[:2]), np.column_stack(drawn[2:])])
    return points, rows, labels


@pytest.mark.parametrize("name", ["ITML", "MMC", "SDML"])
def test_learning_from_pairs(name: str) -> None:
    points, rows, labels = pairs_of()
    by_points = make(name).fit(points, labels)
    by_index = make(name, preprocessor=X).fit(rows, labels)
    for model, pairs in ((by_points, points), (by_index, rows)):
        assert model.score(pairs, labels) > 0.9
        assert (model.predict(pairs) == labels).mean() > 0.8
        np.testing.assert_allclose(
            model.decision_function(pairs), model.pair_score(pairs)
        )
        model.fit(
            pairs,
            labels,
            calibration_params={"strategy": "max_tnr", "min_rate": 0.95},
        )
        assert (model.predict(pairs)[labels == 1] == 1).mean() >= 0.95
        model.set_threshold(0.5)
        assert model.threshold_ == 0.5
        model.calibrate_threshold(
            pairs_valid=pairs, y_valid=labels, strategy="f_beta", beta=2.0
        )
        by_position = model.calibrate_threshold(pairs, labels, "max_tpr", 0.9)
        assert (by_position.predict(pairs)[labels == -1] == -1).mean() >= 0.9
    assert not hasattr(make(f"{name}_Supervised").fit(X, y), "calibrate_threshold")
    with pytest.raises(ValueError, match="Expected pairs"):
        make(name).fit(X, y)


def test_learning_from_triplets_and_quadruplets() -> None:
    a, b, c, d = metric_learn.Constraints(y).positive_negative_pairs(
        100, same_length=True, random_state=0
    )
    four = np.column_stack([a, b, c, d])
    lsml = metric_learn.LSML(preprocessor=X).fit(four, weights=np.ones(len(four)))
    assert lsml.score(four) > 0.9
    assert metric_learn.LSML().fit(X[four]).score(X[four]) > 0.9
    triplets = metric_learn.Constraints(y).generate_knntriplets(X, 2, 3)
    assert triplets.shape == (150 * 6, 3)
    scml = metric_learn.SCML(preprocessor=X, random_state=0).fit(triplets)
    assert scml.score(triplets) > 0.9
    assert scml.predict(triplets[:5]).shape == (5,)
    for model, name in ((metric_learn.SCML(), "triplets"), (metric_learn.LSML(), "q")):
        with pytest.raises(ValueError, match=f"Expected {name}"):
            model.fit(X)


def test_chunks() -> None:
    chunks = metric_learn.Constraints(y).chunks(20, 3, random_state=0)
    assert np.bincount(chunks + 1).tolist() == [90] + 20 * [3]
    rca = metric_learn.RCA().fit(X, chunks)
    inside = chunks >= 0
    moved = X[inside].copy()
    for c in range(20):
        moved[chunks[inside] == c] -= moved[chunks[inside] == c].mean(axis=0)
    expected = np.linalg.inv(moved.T @ moved / 60)
    np.testing.assert_allclose(rca.get_mahalanobis_matrix(), expected, rtol=1e-6)
    assert metric_learn.RCA(2).fit(X, chunks).components_.shape == (2, 4)


def test_chunks_that_just_suffice_are_not_shrunk() -> None:
    # Two chunks of three points: four differences within them, and four features.
    rng = np.random.default_rng(0)
    points, chunks = rng.normal(size=(6, 4)), np.repeat([0, 1], 3)
    within = points - np.repeat([points[:3].mean(0), points[3:].mean(0)], 3, axis=0)
    expected = np.linalg.inv(within.T @ within / 6)
    rca = metric_learn.RCA().fit(points, chunks)
    np.testing.assert_allclose(rca.get_mahalanobis_matrix(), expected, rtol=1e-6)


def test_unknown_labels_are_left_out() -> None:
    partial = np.where(np.arange(150) % 3, y, -1)
    constraints = metric_learn.Constraints(partial)
    rows = np.concatenate(constraints.positive_negative_pairs(50, random_state=0))
    assert (partial[rows] >= 0).all()
    assert (partial[constraints.generate_knntriplets(X, 1, 1)] >= 0).all()
    assert (partial[constraints.chunks(10, random_state=0) >= 0] >= 0).all()
    few = metric_learn.Constraints([0, 0, 1, 1, 1, 1])
    with pytest.warns(UserWarning, match="Only generated 7 positive"):
        few.positive_negative_pairs(8)


def test_mlkr_and_the_scale_of_diagonal_mmc() -> None:
    points, target = make_regression(80, 4, n_informative=2, random_state=0)
    mlkr = metric_learn.MLKR(n_components=2, tol=1e-2, random_state=0)
    assert mlkr.fit(points, target).transform(points).shape == (80, 2)
    pairs, _, labels = pairs_of()
    one, four = (
        metric_learn.MMC(diagonal=True, diagonal_c=c).fit(pairs, labels)
        for c in (1.0, 4.0)
    )
    np.testing.assert_allclose(four.components_, 2 * one.components_)


def test_priors_and_bounds() -> None:
    pairs, _, labels = pairs_of()
    random = metric_learn.ITML(prior="random", random_state=0).fit(pairs, labels)
    identity = metric_learn.ITML(random_state=0).fit(pairs, labels)
    assert not np.allclose(random.components_, identity.components_)
    bound = metric_learn.ITML(random_state=0).fit(pairs, labels, bounds=[1.0, 5.0])
    assert bound.bounds_ == pytest.approx((1.0, 5.0))
    given = metric_learn.ITML_Supervised(random_state=0).fit(X, y, bounds=(1.0, 5.0))
    assert given.bounds_ == pytest.approx((1.0, 5.0))
    for kind in (metric_learn.LSML_Supervised, metric_learn.SDML_Supervised):
        assert kind(prior="random", random_state=0).fit(X, y).components_.shape


def test_a_singular_prior_is_an_error() -> None:
    pairs, _, labels = pairs_of()
    for kind in (metric_learn.ITML, metric_learn.SDML):
        with pytest.raises(np.linalg.LinAlgError, match="prior must be symmetric and"):
            kind(prior=np.diag([1.0, 1.0, 1.0, 0.0])).fit(pairs, labels)
    quadruplets = np.concatenate([pairs[labels == 1], pairs[labels == -1]], axis=1)
    with pytest.raises(np.linalg.LinAlgError, match="prior must be symmetric and"):
        metric_learn.LSML(prior=-np.eye(4)).fit(quadruplets)


def test_a_covariance_without_inverse_is_shrunk() -> None:
    pairs, _, labels = pairs_of()
    pairs = np.concatenate([pairs, pairs[..., :2] @ [[2.0], [3.0]]], axis=-1)
    model = metric_learn.ITML(prior="covariance").fit(pairs, labels)
    assert np.isfinite(model.components_).all()


def test_users_derive_from_the_base_class() -> None:
    class Mine(metric_learn.base_metric.MahalanobisMixin):
        def fit(self, X: Any, y: Any = None) -> Any:
            self.components_ = np.eye(len(X[0]))
            return self

    model = Mine(preprocessor=X).fit(X)
    assert list(model.get_params()) == ["preprocessor"]
    np.testing.assert_array_equal(model.transform([3, 5]), X[[3, 5]])


def test_what_means_nothing_warns_once(recwarn: pytest.WarningsRecorder) -> None:
    BaseMetricLearner._warned.clear()
    model = metric_learn.MMC_Supervised(max_proj=5, random_state=0)
    with pytest.warns(UserWarning, match=r"MMC_Supervised\(max_proj=…\) has no effect"):
        model.fit(X, y)
    model.fit(X, y)  # a second warning would be an error
    with pytest.warns(UserWarning, match="balance_param"):
        metric_learn.SDML_Supervised(balance_param=0.1, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="batch_size"):
        metric_learn.SCML_Supervised(batch_size=20, random_state=0).fit(X, y)
    with pytest.warns(FutureWarning, match="'num_constraints' has been renamed"):
        metric_learn.ITML_Supervised(num_constraints=20, random_state=0).fit(X, y)
    with pytest.warns(FutureWarning, match="'num_chunks' has been renamed") as seen:
        metric_learn.RCA_Supervised(num_chunks=20, random_state=0).fit(X, y)
    assert len(seen) == 1
    assert not recwarn.list


def test_subclasses_of_users() -> None:
    class Mine(metric_learn.ITML_Supervised):
        pass

    partial = np.where(np.arange(150) % 3, y, -1)
    np.testing.assert_array_equal(
        Mine(random_state=0).fit(X, partial).components_,
        metric_learn.ITML_Supervised(random_state=0).fit(X, partial).components_,
    )


def test_a_default_that_is_given_does_not_warn() -> None:
    BaseMetricLearner._warned.clear()
    # Equal to the defaults, and other objects; a warning would be an error.
    given: dict[str, Any] = {"gamma": np.float64(5e-3), "max_iter": np.int64(10_000)}
    metric_learn.SCML_Supervised(**given, random_state=0).fit(X, y)


def test_contradictory_tuples_pass() -> None:
    pairs, _, labels = pairs_of()
    pairs, labels = np.vstack([pairs, pairs[:2]]), np.append(labels, -labels[:2])
    for name in ("ITML", "MMC", "SDML"):
        assert make(name).fit(pairs, labels).score(pairs, labels) > 0.9
    with pytest.raises(ValueError, match="same two points"):
        classic.ITML().fit(pairs, labels)
    triplets = metric_learn.Constraints(y).generate_knntriplets(X, 2, 3)
    triplets = np.vstack([triplets, [[0, 0, 1]]])
    assert metric_learn.SCML(random_state=0).fit(X[triplets]).components_.size


def test_big_chunks_are_not_taken_for_classes() -> None:
    chunks = np.where(np.arange(150) % 3, y, -1)  # a warning would be an error
    inside = chunks >= 0
    np.testing.assert_allclose(
        metric_learn.RCA().fit(X, chunks).get_mahalanobis_matrix(),
        metric_learn.RCA().fit(X[inside], chunks[inside]).get_mahalanobis_matrix(),
    )


def test_failed_fits_leave_no_trace() -> None:
    model = metric_learn.ITML(preprocessor=X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="-1 for others"):
        model.fit(pairs_of()[1], np.arange(160))
    assert vars(model) == before


def test_negative_labels_are_unknown() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[:, 0] += 4 * y
    wild, some = X.copy(), y.copy()
    wild[::2] *= 100
    some[::2] = -1
    for name in ("ITML", "MMC", "LSML", "SCML"):
        make = getattr(metric_learn, f"{name}_Supervised")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            maps = [
                make(random_state=0).fit(*given).get_mahalanobis_matrix()
                for given in ((wild, some), (X[1::2], y[1::2]))
            ]
        np.testing.assert_array_equal(*maps)


def test_distances_of_indices() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    nca = metric_learn.NCA(preprocessor=X, tol=1).fit(np.arange(30), y)
    of_indices = nca.pair_distance([[0, 1], [2, 5]])
    np.testing.assert_array_equal(
        of_indices, nca.pair_distance(X[np.array([[0, 1], [2, 5]])])
    )


@pytest.mark.parametrize("name", ["ITML", "MMC", "SDML"])
def test_scikit_learn_knows_what_classifies_pairs(name: str) -> None:
    from sklearn.base import is_classifier

    for parameters in ({}, {"preprocessor": X}):
        assert is_classifier(make(name, **parameters))
        assert not is_classifier(make(f"{name}_Supervised", **parameters))


@pytest.mark.parametrize("name", ["NCA", "MLKR", "LMNN"])
def test_warnings_name_the_script_s_line(name: str) -> None:
    model = getattr(metric_learn, name)(max_iter=2)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__


def test_k_is_the_number_of_neighbours() -> None:
    X, y = load_iris(return_X_y=True)
    model = metric_learn.LMNN(max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_k, by_name, other = (
            clone(model).set_params(**how).fit(X, y).components_
            for how in ({"k": 5}, {"n_neighbors": 5}, {"n_neighbors": 2})
        )
    np.testing.assert_array_equal(by_k, by_name)
    assert not np.allclose(by_name, other)


@pytest.mark.parametrize("name", ["NCA", "LFDA", "LMNN", "Covariance", *SUPERVISED[:3]])
def test_scikit_learns_checks_of_input(name: str) -> None:
    from sklearn.utils import estimator_checks as checks

    model = make(name)
    checks.check_estimator_sparse_tag(name, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks.check_transformer_data_not_an_array(name, model)
