"""The neural method in a comparison and its report."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("torch")
from vicinal import compare
from vicinal.app.methods.registry import METHODS


@pytest.mark.slow
def test_compared_and_reported(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    found = compare(X, y, methods="standardised,nca,neural-nca", n_splits=2)
    assert "neural-nca" in str(found)
    found.to_html(tmp_path / "report.html")
    assert "neural-nca" in (tmp_path / "report.html").read_text("utf-8")


def test_made_for_classes_and_for_numbers() -> None:
    X, y = load_iris(return_X_y=True)
    names = list(METHODS)
    assert names.index("neural-nca") > names.index("nca")
    for target in (y, X[:, 0]):
        pipeline = METHODS["neural-nca"].pipeline(X, target, 2, random_state=0)
        pipeline.set_params(metric__max_iter=2)
        assert pipeline.fit(X, target).transform(X).shape == (150, 2)
        assert np.isfinite(pipeline.transform(X)).all()
