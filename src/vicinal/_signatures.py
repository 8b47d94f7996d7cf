"""Constructors that are derived from those of other estimators."""

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any


def init_of(parameters: Iterable[Parameter]) -> Callable[..., None]:
    """Return an `__init__` that stores its arguments as scikit-learn expects.

    Parameters
    ----------
    parameters : iterable of Parameter
        The parameters after `self`; all have defaults.
    """
    owner = Parameter("self", Parameter.POSITIONAL_ONLY)
    full = Signature([owner, *parameters])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            bound = full.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}() {error}") from None
        bound.apply_defaults()
        del bound.arguments["self"]
        vars(self).update(bound.arguments)

    # scikit-learn's get_params reads the names from here.
    __init__.__signature__ = full  # type: ignore[attr-defined]
    return __init__


def init_like(
    other: type, *, without: Sequence[str] = (), **more: Any
) -> Callable[..., None]:
    """Return an `__init__` with the parameters of another class.

    Parameters
    ----------
    other : type
        The class.
    without : sequence of str, default=()
        Its parameters that do not apply.
    **more
        Other defaults of its parameters, and further parameters with their defaults.
    """
    known = signature(other).parameters
    kept = [
        one.replace(default=more.pop(name, one.default))
        for name, one in known.items()
        if name not in without
    ]
    for name, default in more.items():
        kept.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
    return init_of(kept)
