from __future__ import annotations

import numpy as np

from vicinal import compare


def test_noisy_labels_are_predicted_as_well_as_by_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    X, direction = rng.normal(size=(3000, 21)), rng.normal(size=21)
    logit = 1.5 * X @ direction / np.linalg.norm(direction)
    chance = 1 / (1 + np.exp(-logit))
    assert abs(np.maximum(chance, 1 - chance).mean() - 0.74) < 0.01
    y = (rng.uniform(size=3000) < chance).astype(int)
    found = compare(X, y, n_splits=3)
    linear = found["logistic regression"].mean
    assert found.best.mean > linear - 0.015
    assert found["nca"].mean > linear - 0.03
    assert found.recommended in ("lda", "ldg", "nca")
    assert max(found["lda"].votes, key=lambda one: one.n_neighbors or 0) is not None
    assert all((one.n_neighbors or 0) > 15 for one in found["lda"].votes)
    assert "vote" in found.header
    fixed = compare(X, y, n_splits=3, methods="lda", n_neighbors=3, references=False)
    assert fixed["lda"].mean < linear - 0.03
    assert "vote" not in fixed.header
