"""Estimators of your own as methods: their names, and what goes before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.app.methods.registry import FitRequest

__all__ = ["check_own", "is_own", "maker", "name_of", "scales_itself"]

_LONGEST = 40


def is_own(method: object) -> bool:
    """Whether something asked for is an estimator, or a name with one."""
    return not isinstance(method, str)


def name_of(method: Any) -> tuple[str, Any]:
    """Return what an estimator is called, and the estimator.

    Parameters
    ----------
    method : estimator or tuple of str and estimator
        What was asked for.

    Returns
    -------
    name : str
        The one given; else what scikit-learn prints, where it is short, or else the
        names of the classes.
    estimator : object
        Not yet checked.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> name_of(PCA(2))[0], name_of(("mine", PCA(2)))[0]
    ('PCA(n_components=2)', 'mine')
    >>> name_of(make_pipeline(StandardScaler(), PCA(2)))[0]
    'StandardScaler+PCA'
    """
    if isinstance(method, tuple | list):
        if len(method) != 2 or not isinstance(method[0], str) or not method[0].strip():
            raise ValueError(
                "A method with a name is written like ('mine', NCA(2)); got "
                f"{method!r}."
            )
        return " ".join(method[0].split()), method[1]
    if isinstance(method, Pipeline):
        return "+".join(type(step).__name__ for _, step in method.steps), method
    shown = re.sub(r"\s+", " ", repr(method))
    return (shown if len(shown) <= _LONGEST else type(method).__name__), method


def check_own(name: str, estimator: Any, task: str) -> None:
    """Raise ValueError or TypeError where an estimator cannot be a method.

    Parameters
    ----------
    name : str
        What it is called.
    estimator : object
        What was given.
    task : str
        What it shall do.
    """
    if isinstance(estimator, type):
        raise TypeError(
            f"{estimator.__name__} is a class; give an estimator, "
            f"{estimator.__name__}()."
        )
    if not all(hasattr(estimator, one) for one in ("fit", "get_params")):
        raise TypeError(
            f"methods are names, estimators, or pairs of the two; got {estimator!r}."
        )
    if not hasattr(estimator, "transform"):
        raise ValueError(
            f"{name} has no transform, and is no metric; where the last step predicts, "
            "leave it out: compare asks the nearest neighbours."
        )
    if task == "none" and not hasattr(estimator, "score"):
        raise ValueError(
            f"{name} has no score; without a target, it must be the mean log-density."
        )


def maker(estimator: Any) -> Callable[[FitRequest], Any]:
    """Return a function that makes a new estimator with the same parameters."""
    return lambda _: clone(estimator)


def scales_itself(estimator: Any) -> bool:
    """Whether an estimator is taken as it is, with nothing that scales before it."""
    return isinstance(estimator, Pipeline)
