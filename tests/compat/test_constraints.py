"""metric-learn's module `constraints`, by its names."""

import importlib

import numpy as np
import pytest
from sklearn.datasets import load_iris

import vicinal.compat.metric_learn as metric_learn
from vicinal.compat.metric_learn.constraints import Constraints, wrap_pairs

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]


def test_the_module_and_the_version_have_their_names() -> None:
    module = importlib.import_module("vicinal.compat.metric_learn.constraints")
    assert metric_learn.constraints is module
    assert metric_learn.Constraints is Constraints
    assert metric_learn.wrap_pairs is wrap_pairs
    assert metric_learn.__version__ == "0.7.0"


def test_names_are_labels() -> None:
    a, b, c, d = Constraints(NAMES).positive_negative_pairs(20, random_state=0)
    assert (y[a] == y[b]).all()
    assert (y[c] != y[d]).all()
    pairs, signs = wrap_pairs(X, (a, b, c, d))
    assert pairs.shape == (40, 2, 4)
    assert signs.tolist() == [1] * 20 + [-1] * 20
    chunks = Constraints(NAMES).chunks(30, random_state=0)
    for chunk in range(30):
        assert len(set(NAMES[chunks == chunk])) == 1
    by_names = metric_learn.RCA_Supervised(n_chunks=30, random_state=0).fit(X, NAMES)
    by_numbers = metric_learn.RCA_Supervised(n_chunks=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_names.components_, by_numbers.components_)


def test_the_old_name_of_the_number_stands_alone() -> None:
    constraints = Constraints(y)
    with pytest.warns(FutureWarning, match="renamed to 'n_constraints'"):
        a, *_ = constraints.positive_negative_pairs(num_constraints=7, random_state=0)
    assert len(a) == 7
    with pytest.raises(TypeError, match="needs n_constraints, the number of pairs"):
        constraints.positive_negative_pairs()


@pytest.mark.parametrize(("k_genuine", "k_impostor"), [(3, 1), (1, 4)])
def test_too_few_neighbours_warn(k_genuine: int, k_impostor: int) -> None:
    constraints = Constraints([1, 1, 1, 2, 2, 2, -1])
    points = np.array([[0, 0], [2, 2], [4, 4], [8, 8], [16, 16], [32, 32], [33, 33]])
    whose = "the same class" if k_genuine == 3 else "other classes"
    with pytest.warns(UserWarning, match=f"neighbors of {whose}, fewer than"):
        found = constraints.generate_knntriplets(points, k_genuine, k_impostor)
    assert len(found) == 6 * min(k_genuine, 2) * min(k_impostor, 3)
    constraints.generate_knntriplets(points, 2, 3)  # a warning would be an error


def test_messages_speak_of_chunks() -> None:
    for call in (
        lambda: Constraints(y).chunks(1000),
        lambda: metric_learn.RCA_Supervised(n_chunks=1000).fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"1000 chunks of 2 points .* 1 to 75"):
            call()
    with pytest.raises(ValueError, match="at least 2 points; got 1"):
        Constraints(y).chunks(10, 1)
    with pytest.raises(ValueError, match="not fractions"):
        Constraints([0.5, 1.5])


@pytest.mark.parametrize(
    "name",
    ["ITML", "MMC", "SDML", "LSML_Supervised", "MMC_Supervised", "SDML_Supervised"],
)
def test_no_private_class_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=r"^[A-Z]\w+\.fit\(\) missing"):
        getattr(metric_learn, name)().fit()


@pytest.mark.parametrize("name", ["ITML", "MMC", "SDML", "LSML", "SCML", "RCA"])
def test_tuples_in_the_place_of_points(name: str) -> None:
    pairs = X[np.array([[0, 1], [0, 100]])]
    model = getattr(metric_learn, f"{name}_Supervised")()
    with pytest.raises(ValueError, match=rf"{name} learns from tuples"):
        model.fit(pairs, [1, -1])


def test_all_priors_are_named() -> None:
    pairs = X[np.array([[0, 1], [0, 100]])]
    with pytest.raises(ValueError, match="'identity', 'covariance', 'random' or a mat"):
        metric_learn.ITML(prior="data").fit(pairs, [1, -1])
