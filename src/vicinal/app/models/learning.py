"""Learning a metric on a table, by the name of a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from vicinal.app.comparison.data import encode_target
from vicinal.app.methods.registry import METHODS, NEEDS_TORCH, Method
from vicinal.app.methods.scores import choose_score
from vicinal.app.methods.votes import OWN_RULE, Vote, Voters, choose_vote
from vicinal.app.models.saved import SavedModel, from_pipeline
from vicinal.app.tables.names import near
from vicinal.app.tables.prepared import Prepared


def learn(  # noqa: C901
    prepared: Prepared,
    method: str,
    *,
    n_components: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    max_iter: int | None = None,
    n_neighbors: Any = "auto",
    score: str = "auto",
    on_iteration: Callable[[int], object] | None = None,
) -> SavedModel:
    """Learn a metric on all rows of a table.

    Parameters
    ----------
    prepared : Prepared
        The table, from `vicinal.app.tables.prepared.prepare`.
    method : str
        One of `vicinal.app.methods.registry.METHODS`. Unsupervised methods ignore the
        target.
    n_components : int, default=None
        The number of dimensions, for methods that reduce them.
    random_state : int, default=0
        The seed, for methods that are random.
    n_jobs : int, default=None
        The number of threads, for methods that use them.
    max_iter : int, default=None
        The largest number of iterations, for iterative methods; by default their own.
    n_neighbors : int or "auto", default="auto"
        The number of neighbors that predict a row. "auto" chooses it and their weights
        by leave-one-out, as `vicinal.compare` does.
    score : str, default="auto"
        The score by which to choose, as for `vicinal.compare`.
    on_iteration : callable, default=None
        Called with the number of each iteration, if the method has a callback.

    Returns
    -------
    SavedModel
        The metric with the preparation of its table.

    Raises
    ------
    ValueError
        If there is no such method, or it cannot learn from these rows or targets.

    See Also
    --------
    vicinal.save : Write the model to a file.
    vicinal.app.models.from_pipeline : Build a model from a fitted pipeline.

    Examples
    --------
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> wine = prepare("wine")
    >>> model = learn(wine, "lda")
    >>> model.components.shape, model.classes
    ((2, 13), ('class_0', 'class_1', 'class_2'))
    >>> model.transform(wine.frame).shape
    (178, 2)
    """
    d = prepared.X.shape[1]
    for name, value in (("n_components", n_components), ("max_iter", max_iter)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}.")
    if n_components is not None and n_components > d:
        raise ValueError(
            f"n_components={n_components} exceeds the {d} features; ask for {d} or "
            "fewer."
        )
    if n_neighbors != "auto":
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1)
    chosen = method_named(method)
    if not chosen.storable:
        raise ValueError(
            f"{method} is a network, and a model file holds a linear map or curves; in "
            "Python, vicinal.save keeps the estimator."
        )
    _, target, classes = encode_target(prepared.y, prepared.task)
    scored = None
    if target is not None:
        scored, _ = choose_score(score, prepared.task, target, classes)
    y = target if needs_target(method) else None
    if needs_target(method) and prepared.task not in chosen.tasks:
        names = {"classification": "classes", "regression": "numbers"}
        needs = " or ".join(names[task] for task in chosen.tasks)
        raise ValueError(
            f"{method} learns from a target of {needs}; name one with --target, or "
            "choose another method."
        )
    pipeline = chosen.pipeline(prepared.X, y, n_components, random_state, n_jobs)
    metric: Any = pipeline[-1]
    known = {} if isinstance(metric, str) else metric.get_params(deep=False)
    parameters = {"n_components": n_components, "random_state": random_state}
    if max_iter is not None:
        if "max_iter" not in known:
            raise ValueError(
                f"{method} does not iterate; leave out max_iter={max_iter}."
            )
        metric.set_params(max_iter=max_iter)
        parameters["max_iter"] = max_iter
    if on_iteration is not None and "callback" in known:
        metric.set_params(callback=lambda _, iteration: on_iteration(iteration))
    try:
        pipeline.fit(prepared.X, y)
    # IndexError: scikit-learn's LDA, if no class has any spread.
    except (ValueError, IndexError, ArithmeticError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{method} cannot learn from these rows: {reason}.") from error
    model = from_pipeline(pipeline, prepared, method, parameters)
    vote: Vote | None = None
    if n_neighbors != "auto":
        vote = Vote(int(n_neighbors))
    elif model.curves is not None:
        vote = Vote(None, "plain", n_maps=len(model.curves._members))
    elif chosen.own_rule:
        vote = OWN_RULE
    elif scored is not None:
        points = model.map(model.scaled(prepared.X))
        voters = Voters(points, np.asarray(target), len(classes), n_jobs)
        vote = choose_vote(voters, scored)
    return replace(model, vote=vote)


def method_named(name: str) -> Method:
    """Return a method by its name; raise ValueError with a suggestion if it is unknown.

    See Also
    --------
    vicinal.app.models.needs_target : Whether it learns from a target.

    Examples
    --------
    >>> from vicinal.app.models import method_named
    >>> method_named("lda").name
    'lda'
    """
    if name == "neural-nca" and name not in METHODS:
        raise ValueError(NEEDS_TORCH)
    if name not in METHODS:
        hint = near(name, list(METHODS)) or f"; there are {', '.join(METHODS)}."
        raise ValueError(f"There is no method {name!r}{hint}")
    return METHODS[name]


def needs_target(name: str) -> bool:
    """Whether the method learns from a target.

    See Also
    --------
    vicinal.app.models.method_named : Return the method.

    Examples
    --------
    >>> from vicinal.app.models import needs_target
    >>> needs_target("lda"), needs_target("pca")
    (True, False)
    """
    unsupervised = name in ("euclidean", "standardised", "whitened", "pca")
    return "none" not in method_named(name).tasks and not unsupervised
