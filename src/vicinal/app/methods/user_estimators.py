"""Estimators of the user as methods of a comparison."""

from __future__ import annotations

import re
from typing import Any, Literal

__all__ = ["as_named_estimator", "check_estimator", "predicts_by_soft_neighbors"]


def as_named_estimator(
    method: Any, max_length: int = 40
) -> tuple[str, Any, Literal["auto", "none"]]:
    """Return the name of a user's estimator, the estimator, and the scaling before it.

    Parameters
    ----------
    method : estimator or tuple of str and estimator
        As the user gave it.
    max_length : int, default=40
        A longer representation is replaced by the name of the class.

    Returns
    -------
    name : str
        The name given; else the representation of the estimator, or the classes of a
        pipeline's steps.
    estimator : object
        Not yet checked.
    scale : {"auto", "none"}
        A pipeline gets the features as they are.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> as_named_estimator(PCA(2))[0], as_named_estimator(("mine", PCA(2)))[0]
    ('PCA(n_components=2)', 'mine')
    >>> as_named_estimator(make_pipeline(StandardScaler(), PCA(2)))[0]
    'StandardScaler+PCA'
    """
    from sklearn.pipeline import Pipeline

    name, estimator = "", method
    if isinstance(method, tuple | list):
        if len(method) != 2 or not isinstance(method[0], str) or not method[0].strip():
            raise ValueError(
                "A method with a name is written like ('mine', NCA(2)); got "
                f"{method!r}."
            )
        name, estimator = " ".join(method[0].split()), method[1]
    if isinstance(estimator, Pipeline):
        steps = "+".join(type(step).__name__ for _, step in estimator.steps)
        return name or steps, estimator, "none"
    shown = re.sub(r"\s+", " ", repr(estimator))
    if len(shown) > max_length:
        shown = type(estimator).__name__
    return name or shown, estimator, "auto"


def check_estimator(name: str, estimator: Any, task: str) -> None:
    """Raise ValueError or TypeError if an estimator cannot be compared.

    Parameters
    ----------
    name : str
        Its name.
    estimator : object
        As the user gave it.
    task : str
        The task of the comparison.
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
            f"{name} has no transform, so it defines no metric. If its last step "
            "predicts, leave it out: compare predicts with nearest neighbors."
        )
    if task == "none" and not hasattr(estimator, "score_samples"):
        raise ValueError(
            f"{name} has no score_samples; without a target, it must return "
            "log-densities."
        )


def predicts_by_soft_neighbors(estimator: Any) -> bool:
    """Whether an estimator is `NCAClassifier` or `NCARegressor`, perhaps in a pipeline.

    Parameters
    ----------
    estimator : object
        As the user gave it.
    """
    from sklearn.pipeline import Pipeline

    from vicinal.nca import NCAClassifier, NCARegressor

    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return isinstance(last, NCAClassifier | NCARegressor)
