import numpy as np
import pytest

from vicinal.base.selection import enough_components


@pytest.mark.parametrize(("fewest_right", "chosen"), [(90, 1), (85, 2)])
def test_fewer_rows_within_a_standard_error_are_enough(
    fewest_right: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 points 92 are right with two rows: the standard error is 2.7 points."""
    hits = np.arange(100) < np.array([[fewest_right], [92], [91]])
    monkeypatch.setattr(
        n_components,
        "leave_one_out_hits",
        lambda *_, dimensions: hits[: len(dimensions)],
    )
    X, codes = np.zeros((100, 3)), np.zeros(100, dtype=int)
    assert enough_components(X, codes, np.eye(3)) == chosen
