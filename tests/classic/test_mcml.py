import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from tests.classic.oracles import mcml_value
from vicinal.classic import MCML

X, y = load_wine(return_X_y=True)
X = scale(X)
pytestmark = pytest.mark.filterwarnings("ignore:MCML did not converge")


def test_the_curve_is_the_objective_of_the_components() -> None:
    points, labels = X[::3], y[::3]
    model = MCML(2, max_iter=20).fit(points, labels)
    expected = mcml_value(points, labels, model.components_)
    assert model.objective_curve_[-1] == pytest.approx(expected, rel=1e-8)
    assert (np.diff(model.objective_curve_) >= -1e-9).all()


def test_the_optimum_of_full_rank_does_not_depend_on_the_start() -> None:
    ends = [
        MCML(init=init, max_iter=500, tol=1e-9, random_state=0).fit(X[:, :4], y)
        for init in ("identity", "whiten", "random")
    ]
    values = [end.objective_curve_[-1] for end in ends]
    np.testing.assert_allclose(values, values[0], rtol=1e-4)
    matrices = [end.get_mahalanobis_matrix() for end in ends]
    for matrix in matrices[1:]:
        np.testing.assert_allclose(matrix, matrices[0], atol=0.05 * matrix.max())


def test_classes_are_told_apart() -> None:
    model = MCML(2, max_iter=100).fit(X[::2], y[::2])
    knn = KNeighborsClassifier(3).fit(model.transform(X[::2]), y[::2])
    assert knn.score(model.transform(X[1::2]), y[1::2]) > 0.95


def test_threads_float32_and_wide_rows() -> None:
    one = MCML(max_iter=5, n_jobs=1).fit(X, y).components_
    np.testing.assert_array_equal(MCML(max_iter=5, n_jobs=3).fit(X, y).components_, one)
    narrow = MCML(max_iter=5).fit(X.astype(np.float32), y).components_
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, one, atol=1e-2)
    wide = np.random.default_rng(0).normal(size=(30, 100))
    assert MCML(max_iter=5).fit(wide, np.arange(30) % 3).components_.shape == (29, 100)


def test_each_row_alone() -> None:
    with pytest.raises(ValueError, match="nothing to collapse"):
        MCML().fit(X[:10], np.arange(10))
