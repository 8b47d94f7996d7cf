"""Scores of queries as JSON, and back from a file that anybody may have edited."""

import re
from typing import Any

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._evaluation import Evaluation

_KEYS = {"before", "after", "seed", "queries"}
_NAME = re.compile(r"[a-z]{1,20}(@[0-9]{1,9})?")
_MOST_SCORES = 100
# `fit` scores at most 4,000 queries.
_MOST_QUERIES = 10_000
_LARGEST = 2**53


def stored_evaluation(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """Return an evaluation as JSON holds it; none of more than 10,000 queries.

    Parameters
    ----------
    evaluation : Evaluation or None
        What an adapter was fitted with.
    """
    if evaluation is None or not evaluation.before:
        return None
    if len(next(iter(evaluation.before.values()))) > _MOST_QUERIES:
        return None
    queries = evaluation.queries
    return {
        "before": {name: _plain(one) for name, one in evaluation.before.items()},
        "after": {name: _plain(one) for name, one in evaluation.after.items()},
        "seed": int(evaluation.seed),
        "queries": None if queries is None else queries.tolist(),
    }


def read_evaluation(stored: Any) -> Evaluation | None:
    """Return the evaluation that was stored, after all of it was checked.

    Parameters
    ----------
    stored : object
        From JSON.

    Raises
    ------
    ValueError
        When it is anything else than `stored_evaluation` returns.
    """
    if stored is None:
        return None
    _demand(isinstance(stored, dict) and set(stored) == _KEYS)
    before, after = (_scores(stored[when]) for when in ("before", "after"))
    _demand(list(before) == list(after))
    sizes = {len(one) for one in (*before.values(), *after.values())}
    _demand(len(sizes) == 1)
    (n,) = sizes
    for name, scores in before.items():
        _demand(np.array_equal(np.isnan(scores), np.isnan(after[name])))
    seed = stored["seed"]
    _demand(type(seed) is int and 0 <= seed < 2**32)
    return Evaluation(before, after, seed, _queries(stored["queries"], n))


def _plain(scores: FloatArray) -> list[float | None]:
    return [None if np.isnan(one) else float(one) for one in scores]


def _scores(stored: Any) -> dict[str, FloatArray]:
    _demand(isinstance(stored, dict) and 0 < len(stored) <= _MOST_SCORES)
    found = {}
    for name, values in stored.items():
        _demand(_NAME.fullmatch(name) is not None and isinstance(values, list))
        _demand(0 < len(values) <= _MOST_QUERIES)
        # Of each kind there is, the worst is 0 and the best 1. Whole numbers may be too
        # large to be converted.
        _demand(
            all(
                one is None or (type(one) in (int, float) and 0 <= one <= 1 + 1e-6)
                for one in values
            )
        )
        scores = np.array([np.nan if one is None else one for one in values], float)
        _demand(not np.isnan(scores).all())
        found[name] = scores
    return found


def _queries(stored: Any, n: int) -> IntArray | None:
    if stored is None:
        return None
    _demand(isinstance(stored, list) and len(stored) == n)
    _demand(all(type(one) is int and 0 <= one < _LARGEST for one in stored))
    _demand(len(set(stored)) == n)
    return np.array(stored, dtype=np.intp)


def _demand(holds: bool) -> None:
    if not holds:
        raise ValueError("the evaluation")
