from __future__ import annotations

import numpy as np
import pytest

from vicinal.app.comparison import MethodResult, Setting
from vicinal.app.comparison.statistics import Evidence


def result(name: str, n_right: int) -> MethodResult:
    """Return a method that is right on the first of 2000 rows, all of class 1."""
    one = np.ones(1)
    found = (np.arange(2000) < n_right).astype(int)
    scores = np.array([n_right / 2000])
    return MethodResult(name, one.astype(int), scores, one, one, outcomes=(found,))


@pytest.mark.parametrize(("n_right", "ahead"), [(10, False), (11, True)])
def test_a_reference_is_ahead_by_more_than_what_is_negligible(
    n_right: int, ahead: bool
) -> None:
    rows = np.arange(2000)
    setting = Setting(
        np.zeros((2000, 1)),
        None,
        "classification",
        rows,
        2000,
        ["x"],
        n_splits=1,
        target=np.ones(2000, dtype=int),
        tests=(rows,),
    )
    reference, method = result("gradient boosting", n_right), result("nca", 0)
    evidence = Evidence([method], setting, [reference])
    # Half a point is negligible, though ten rows to none are no chance.
    gain, error = evidence.against_reference(method, reference)
    assert gain == -n_right / 2000
    assert -gain > 2 * error
    assert evidence.ahead_of_all() is (reference if ahead else None)
