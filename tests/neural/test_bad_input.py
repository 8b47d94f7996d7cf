"""Invalid input raises errors with a remedy."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from tests.neural.data import mixed, waves  # noqa: E402
from vicinal.neural import NeuralNCAClassifier, NeuralNCARegressor  # noqa: E402

X, y = waves(60)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"categorical_features": [5]}, "not a column of X"),
        ({"categorical_features": ["age"]}, "not a column of X"),
        ({"categorical_features": [True]}, "1 booleans"),
        ({"embedding": "spline"}, "embedding"),
        ({"embedding_size": 1}, "embedding_size"),
        ({"dropout": 1.0}, "dropout"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NeuralNCAClassifier(**settings).fit(X, y)


def test_a_device_that_is_not_there() -> None:
    model = NeuralNCAClassifier(device="abacus")
    with pytest.raises(RuntimeError, match="abacus"):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_one_class() -> None:
    with pytest.raises(ValueError, match="at least two classes"):
        NeuralNCAClassifier().fit(X, np.zeros(60))


def test_infinity() -> None:
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        NeuralNCAClassifier().fit(bad, y)


def test_text_where_numbers_are_expected() -> None:
    frame, labels = mixed(40)
    model = NeuralNCAClassifier(categorical_features=None)
    with pytest.raises(ValueError, match=r"'kind'.*categorical_features"):
        model.fit(frame, labels)


def test_targets_of_frames_are_checked() -> None:
    frame, labels = mixed(40)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        NeuralNCAClassifier().fit(frame, labels[:-1])
    with pytest.raises(ValueError, match="NaN"):
        NeuralNCARegressor().fit(frame, np.full(40, np.nan))
    with pytest.raises(ValueError, match="NaN"):
        NeuralNCAClassifier().fit(frame, np.full(40, np.nan))
    with pytest.raises(ValueError, match="at least 2 rows"):
        NeuralNCARegressor().fit(frame[:1], [1.0])


def test_empty_frames() -> None:
    frame, labels = mixed(40)
    model = NeuralNCAClassifier(max_iter=2)
    with pytest.raises(ValueError, match=r"X has 0 row\(s\)"):
        model.fit(frame[:0], labels[:0])
    with pytest.raises(ValueError, match=r"0 column\(s\)"):
        model.fit(frame[[]], labels)
    with pytest.raises(ValueError, match=r"X has 0 row\(s\)"):
        model.fit(frame, labels).predict(frame[:0])


@pytest.mark.parametrize("gap", [None, np.nan])
def test_missing_labels(gap: Any) -> None:
    frame, labels = mixed(40)
    with_gap = labels.astype(object)
    with_gap[3] = gap
    for rows in (frame, frame[["noise"]].to_numpy()):
        for y_given in (with_gap, with_gap.tolist()):
            with pytest.raises(ValueError, match="y contains missing values"):
                NeuralNCAClassifier().fit(rows, y_given)


@pytest.mark.parametrize("n_neighbors", [-1, 0, 2.5, True])
def test_explain_refuses_n_neighbors(n_neighbors: Any) -> None:
    model = NeuralNCAClassifier(2, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors must be"):
        model.explain(X, n_neighbors=n_neighbors)


@pytest.mark.parametrize(
    "settings", [{"categories": "one-hot"}, {"module": torch.nn.LazyLinear(2)}]
)
def test_too_many_categories_for_a_column_each(settings: dict[str, Any]) -> None:
    names = np.arange(5000.0)[:, None]
    model = NeuralNCAClassifier(categorical_features=[0], **settings)
    with pytest.raises(ValueError, match="5,000 categories"):
        model.fit(names, np.arange(5000) % 2)


def test_another_frame() -> None:
    frame, labels = mixed(40)
    model = NeuralNCAClassifier(max_iter=2).fit(frame, labels)
    with pytest.raises(ValueError, match="no column 'kind'"):
        model.predict(frame.rename(columns={"kind": "sort"}))


@pytest.mark.parametrize("n", [2, 3, 9])
def test_fewer_rows_than_a_batch(n: int) -> None:
    labels = np.arange(n) % 2
    model = NeuralNCAClassifier(4, max_iter=3, random_state=0).fit(X[:n], labels)
    assert np.isfinite(model.predict_proba(X)).all()


def test_columns_that_say_nothing() -> None:
    rows = np.column_stack([X, np.full(60, 7.0), np.full(60, np.nan), X[:, 0] * 1e300])
    model = NeuralNCAClassifier(4, max_iter=5, random_state=0).fit(rows, y)
    assert np.isfinite(model.predict_proba(rows)).all()


def test_without_torch_the_message_names_the_extra() -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "try:\n    import vicinal.neural\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "vicinal[torch]" in done.stdout


def test_the_core_does_not_import_torch() -> None:
    code = "import sys, vicinal.nca, vicinal.app.methods.registry, vicinal.app.cli\n"
    code += "print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
