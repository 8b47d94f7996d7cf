from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

import vicinal
from vicinal.cli import build_app, main
from vicinal.cli.compare import verdict
from vicinal.comparison import Comparison, MethodResult, compare
from vicinal.datasets import load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # The last three colour the output even where nobody looks at it.
    for variable in ("VICINAL_DATA", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(build_app(), arguments)


def test_compare_prints_what_compare_returns() -> None:
    outcome = run("compare", "wine", "--methods", "lda,euclidean", "--splits", "3")
    wine = load("wine")
    expected = compare(wine.X, wine.y, methods=["lda", "euclidean"], n_splits=3)
    assert outcome.exit_code == 0, outcome.output
    for one in expected.results:
        line = next(x for x in outcome.stdout.splitlines() if one.name in x)
        assert one.score in line
    assert outcome.stdout.splitlines()[-1] == verdict(expected)
    assert "standardised" not in outcome.stdout


def test_options_reach_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def record(X: Any, y: Any, **options: Any) -> Comparison:
        given.update(options, shape=X.shape, classes=set(y.tolist()))
        return Comparison((result("pca", 0.9),))

    monkeypatch.setattr("vicinal.comparison.compare", record)
    arguments = "compare iris --methods pca,nca --splits 2 --neighbors 7"
    outcome = run(*f"{arguments} --components 1 --seed 5 --jobs 4".split())
    assert outcome.exit_code == 0, outcome.output
    assert callable(given.pop("on_progress"))
    assert given == {
        "shape": (150, 4),
        "classes": {"setosa", "versicolor", "virginica"},
        "methods": ["pca", "nca"],
        "n_splits": 2,
        "n_neighbors": 7,
        "n_components": 1,
        "random_state": 5,
        "n_jobs": 4,
    }


def test_fits_that_did_not_converge_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = Comparison((result("nca", 0.9, 0.8, not_converged=2),))
    monkeypatch.setattr("vicinal.comparison.compare", lambda *_, **__: stopped)
    outcome = run("compare", "iris")
    assert "nca: 2 of 2 fits stopped at the iteration limit" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare nope", "There is no data set 'nope'. Valid names: iris, wine"),
        ("compare ../iris", "is not a data set's name"),
        ("compare iris --methods lmn", "methods must be some of euclidean"),
        ("compare iris --splits 0", "n_splits == 0"),
        ("compare iris --components 9", "exceeds the 4 features"),
    ],
)
def test_mistakes_end_with_a_message(arguments: str, message: str) -> None:
    outcome = run(*arguments.split())
    assert outcome.exit_code == 2
    assert outcome.output.startswith("vicinal: ")
    assert message in outcome.output
    assert outcome.output.count("\n") == 1
    assert isinstance(outcome.exception, SystemExit)


def test_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = ["iris", "wine", "digits", "breast_cancer"]
    assert run("datasets").stdout.split() == bundled
    np.savez(tmp_path / "mine.npz", X=np.ones((2, 1)), y=np.arange(2))
    monkeypatch.setenv("VICINAL_DATA", str(tmp_path))
    assert run("datasets").stdout.split() == [*bundled, "mine"]


def test_version() -> None:
    outcome = run("--version")
    assert outcome.exit_code == 0
    assert outcome.stdout == f"vicinal {vicinal.__version__}\n"


def test_help_in_a_process_of_its_own() -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", "from vicinal.cli import main; main()", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert "Usage: vicinal [OPTIONS] COMMAND" in outcome.stdout
    for part in ("compare", "datasets", "--version"):
        assert part in outcome.stdout


def test_help_does_not_wait_for_heavy_imports() -> None:
    program = (
        "import sys\n"
        "from vicinal.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(','.join({'numpy', 'sklearn', 'numba'} & set(sys.modules)) or 0)\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, "--help"],
        capture_output=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit, match=r"pip install 'vicinal\[cli\]'"):
        main()


def result(name: str, *accuracies: float, not_converged: int = 0) -> MethodResult:
    ones = np.ones(len(accuracies))
    return MethodResult(
        name, ones.astype(np.intp), np.array(accuracies), ones, not_converged
    )


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        (
            [result("euclidean", 0.7, 0.72), result("nca", 0.9, 0.94)],
            "nca is best: 92.0 ± 2.0 %; k-NN on raw features: 71.0 ± 1.0 %",
        ),
        # The means are far apart, but the splits do not agree on who is ahead.
        (
            [result("euclidean", 0.9, 0.5), result("nca", 0.8, 0.9)],
            "no clear winner between nca and euclidean: 85.0 ± 5.0 %, 70.0 ± 20.0 %",
        ),
        # The means are close, but one method is ahead by as much on each split.
        (
            [result("pca", 0.5, 0.9), result("lda", 0.51, 0.91)],
            "lda is best: 71.0 ± 20.0 %",
        ),
        (
            [
                result("euclidean", 0.1, 0.1),
                result("pca", 0.8, 0.9),
                result("lda", 0.9, 0.81),
                result("nca", 0.9, 0.82),
            ],
            "no clear winner between nca, lda and pca: 86.0 ± 4.0 %, 85.5 ± 4.5 %, "
            "85.0 ± 5.0 %; k-NN on raw features: 10.0 ± 0.0 %",
        ),
        # One split shows no difference to be sure of.
        (
            [result("pca", 0.8), result("lda", 0.9)],
            "no clear winner between lda and pca: 90.0 %, 80.0 %",
        ),
        (
            [result("pca", 0.8, 0.8), result("lda", 0.8, 0.8)],
            "no clear winner between pca and lda: 80.0 ± 0.0 %, 80.0 ± 0.0 %",
        ),
        ([result("nca", 0.8, 0.9)], "nca: 85.0 ± 5.0 %"),
    ],
)
def test_verdict(results: list[MethodResult], sentence: str) -> None:
    assert verdict(Comparison(tuple(results))) == sentence
