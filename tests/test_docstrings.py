"""Docstrings of public names, by numpydoc's own checks."""

from __future__ import annotations

import ast
import inspect
import re
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import pytest
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import vicinal

if TYPE_CHECKING:
    from collections.abc import Iterator

# The rooms that a user imports from; what is public in a room is its `__all__`.
INTERNAL = {"cli", "neighborhood"}
ROOMS = sorted(
    name
    for _, name, _ in iter_modules(vicinal.__path__)
    if not name.startswith("_") and name not in INTERNAL
)
# Checks that are off; all others of numpydoc are on.
OFF = {
    "ES01",  # not everything needs a second paragraph
    "SA01",  # nor a list of related names
    "SS05",  # a summary may begin with a noun in the plural
    "PR03",  # parameters that a class shares with NCA stand together
    "PR04",  # and have their types there
    "PR08",  # a description may begin with the paper's letter: k, λ
    "RT03",  # the type may say it all: self
    "RT04",
}
# Demanded of a docstring that has sections: it must be complete. One without them says
# all in its sentences.
OF_SECTIONS = {"PR01", "RT01", "YD01"}
# Demanded of estimators: an example.
OF_ESTIMATORS = {"EX01"}


def public_members(module: str) -> Iterator[tuple[str, Any]]:
    """Names of a module's ``__all__``, and of the methods that we wrote."""
    home = import_module(module)
    for name in getattr(home, "__all__", ()):
        value = getattr(home, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue  # a constant or an alias of types, which holds no docstring
        yield f"{module}.{name}", value
        for method, member in inspect.getmembers(value):
            function = getattr(member, "fget", member)
            if (
                not method.startswith("_")
                and inspect.isroutine(function)
                and (getattr(function, "__module__", None) or "").startswith("vicinal")
            ):
                yield f"{module}.{name}.{method}", member


NEEDS = {"vicinal.neural": "torch", "vicinal.dask": "distributed"}


def breaches(name: str, value: Any) -> list[str]:
    off = set(OFF)
    if "Parameters\n" not in (value.__doc__ or ""):
        off |= OF_SECTIONS
    if not (inspect.isclass(value) and issubclass(value, BaseEstimator)):
        off |= OF_ESTIMATORS
    return [
        f"{name}: {code} {message}"
        for code, message in validate(name)["errors"]
        if code not in off
    ]


@pytest.mark.parametrize("module", ["vicinal", *(f"vicinal.{room}" for room in ROOMS)])
def test_public_names_are_documented(module: str) -> None:
    if module in NEEDS:  # the sessions that have it look at them
        pytest.importorskip(NEEDS[module])
    found = [line for one in public_members(module) for line in breaches(*one)]
    assert not found, "\n".join(found)


DEFAULT = re.compile(r"^ *([a-z_]\w*(?:, \w+)*) : .*\bdefault=(.+)$", re.MULTILINE)


def untrue_defaults(name: str, value: Any) -> list[str]:
    """Return the parameters whose default is not the one that the docstring says."""
    is_error = inspect.isclass(value) and issubclass(value, BaseException)
    if not callable(value) or not value.__doc__ or is_error:
        return []
    parameters = inspect.signature(value).parameters
    found = []
    for names, said in DEFAULT.findall(value.__doc__.partition("Returns\n")[0]):
        for one in set(names.split(", ")) & set(parameters):
            true = parameters[one].default
            with suppress(ValueError, SyntaxError):  # said in words
                if ast.literal_eval(said) != true:
                    found.append(f"{name}: {one} is {true!r}, not {said}")
    return found


@pytest.mark.parametrize("module", ["vicinal", *(f"vicinal.{room}" for room in ROOMS)])
def test_defaults_are_those_that_docstrings_say(module: str) -> None:
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    found = [line for one in public_members(module) for line in untrue_defaults(*one)]
    assert not found, "\n".join(found)


SHARED = re.compile(r"^ *(\w+(?:, \w+)*)\n +As for :class:`([\w.]+)`[.;]", re.MULTILINE)


def unshared_defaults(name: str, value: Any) -> list[str]:
    """Return the parameters that are said to be another class's, and are not."""
    if not inspect.isclass(value) or not value.__doc__:
        return []
    found: list[str] = []
    for names, path in SHARED.findall(value.__doc__):
        own = inspect.signature(value).parameters
        module, _, other = path.rpartition(".")
        home = import_module(module or name.rpartition(".")[0])
        theirs = inspect.signature(getattr(home, other)).parameters
        found += [
            f"{name}: {one} is not as for {path}"
            for one in names.split(", ")
            if one in own and own[one].default != theirs[one].default
        ]
    return found


@pytest.mark.parametrize("module", ["vicinal", *(f"vicinal.{room}" for room in ROOMS)])
def test_shared_defaults_are_the_same(module: str) -> None:
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    found = [line for one in public_members(module) for line in unshared_defaults(*one)]
    assert not found, "\n".join(found)


def undocumented(first: int) -> int:
    return first


def wrongly_documented(first: int = 2) -> int:
    """Return the first.

    Parameters
    ----------
    first : int, default=3
        What to return.
    """
    return first


def half_documented(first: int, second: int) -> int:
    """Return the first.

    Parameters
    ----------
    first : int
        What to return.

    Returns
    -------
    int
        The first.
    """
    return first + 0 * second


class Exampleless(BaseEstimator):
    """Learn nothing."""


@pytest.mark.parametrize(
    ("value", "code"),
    [(undocumented, "GL08"), (half_documented, "PR01"), (Exampleless, "EX01")],
)
def test_a_breach_is_found(value: Any, code: str) -> None:
    (line,) = breaches(f"{__name__}.{value.__name__}", value)
    assert code in line


def test_an_untrue_default_is_found() -> None:
    (line,) = untrue_defaults("f", wrongly_documented)
    assert line == "f: first is 2, not 3"


class OtherPenalty(BaseEstimator):
    """Learn nothing.

    Parameters
    ----------
    tol, alpha
        As for :class:`vicinal.NCA`.
    """

    def __init__(self, tol: float = 1e-5, alpha: float = 7.0) -> None:
        self.tol, self.alpha = tol, alpha


def test_an_unshared_default_is_found() -> None:
    (line,) = unshared_defaults("A", OtherPenalty)
    assert line == "A: alpha is not as for vicinal.NCA"
