from __future__ import annotations

import json
import re
import shlex
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from tests.app.cli.conftest import assert_error_line, run
from vicinal import compare
from vicinal.app.comparison import METHODS, Comparison
from vicinal.datasets import load

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--methods", "lda,euclidean", "--splits", "3")


def test_compare_prints_what_compare_returns() -> None:
    outcome = run("compare", "wine", *QUICK)
    wine = load("wine")
    expected = compare(wine.X, wine.y, methods="lda euclidean", n_splits=3)
    assert outcome.exit_code == 0, outcome.output
    for one in expected.results:
        line = next(
            x for x in outcome.stdout.splitlines() if x.startswith(f"{one.name} ")
        )
        assert expected.score(one.name) in line
    # The sentence first, then what it rests on.
    lines = outcome.stdout.splitlines()
    assert lines[1] == expected.verdict()
    assert any("gradient" in line for line in lines)
    assert any("significantly worse" in line for line in lines)
    assert "standardised" not in outcome.stdout
    assert outcome.stdout.startswith("wine: 178 rows, 13 features, target 'target'")


def test_the_command_that_comes_next_runs_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b", "c"], 30)
    frame = {
        "size": rng.normal(size=90) + np.repeat([0, 4, 8], 30),
        "other": rng.normal(size=90),
        "note": [f"no. {i}" for i in range(90)],
        "my kind": kind,
    }
    pl.DataFrame(frame).write_csv("my shop.csv")
    asked = ["compare", "my shop.csv", "--target", "my kind", "--drop=note", *QUICK]
    monkeypatch.setattr("sys.argv", ["vicinal", *asked])
    outcome = run(*asked)
    assert outcome.exit_code == 0, outcome.output
    (line,) = [x for x in outcome.stdout.splitlines() if x.startswith("Next: ")]
    command = shlex.split(line.removeprefix("Next: "))
    assert command[:3] == ["vicinal", "fit", "my shop.csv"]
    fitted = run(*command[1:])
    assert fitted.exit_code == 0, fitted.output
    assert (folder / command[-1]).is_file()


def test_nothing_comes_next_where_no_metric_is_of_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    frame = {"x": rng.normal(size=60), "y": rng.normal(size=60)}
    pl.DataFrame(frame).write_csv("noise.csv")
    asked = ["compare", "noise.csv", "--methods", "euclidean", "--splits", "2"]
    monkeypatch.setattr("sys.argv", ["vicinal", *asked])
    outcome = run(*asked)
    assert "so do without neighbours" in outcome.stdout
    assert "Next: " not in outcome.stdout


def test_options_reach_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    real = compare

    def record(X: Any, y: Any, **options: Any) -> Comparison:
        given.update(options, shape=X.shape, classes=set(y.tolist()))
        return real(X, y, methods="pca", n_splits=1)

    monkeypatch.setattr("vicinal.app.comparison.compare", record)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    arguments = "compare iris --methods pca,nca --splits 2 --neighbors 7"
    more = "--n-components 1 --seed 5 --jobs 4 --time-budget 2m"
    outcome = run(*f"{arguments} {more}".split())
    assert outcome.exit_code == 0, outcome.output
    assert callable(given.pop("on_progress"))
    # Two minutes, less what it took to read the data.
    assert 60 < given.pop("time_budget") < 120
    assert given == {
        "shape": (150, 4),
        "classes": {"setosa", "versicolor", "virginica"},
        "task": "classification",
        "methods": "pca,nca",
        "n_splits": 2,
        "n_neighbors": 7,
        "score": "auto",
        "n_components": 1,
        "random_state": 5,
        "n_jobs": 4,
        "name": "iris",
        "feature_names": load("iris").feature_names,
    }


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file with a column of each kind."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], size=90)
    path = tmp_path / "shop.csv"
    size = rng.normal(size=90).astype(object)
    size[::10] = None
    pl.DataFrame(
        {
            "customer_id": np.arange(90),
            "colour": colour,
            "size": size.tolist(),
            "shop": ["Bern"] * 90,
            "[bold]<script>": rng.normal(size=90),
            "price": rng.normal(size=90) + 3 * (colour == "red"),
            "kind": np.where(colour == "red", "<i>warm</i>", "cold"),
        }
    ).write_csv(path)
    return path


def test_a_file_with_columns_of_every_kind(table: Path) -> None:
    outcome = run("compare", table, "--target", "kind", "--splits", 2)
    assert outcome.exit_code == 0, outcome.output
    assert "shop: 90 rows, 6 features, target 'kind' (classes)" in outcome.stdout
    for line in ("category: colour", "constant: shop", "identifier: customer_id"):
        assert line in outcome.stdout
    assert "100.0" in outcome.stdout


def test_the_table_has_room_on_a_terminal(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run("compare", table, "--target", "price", "--splits", 2)
    lines = outcome.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("method "))
    end = next(i for i, line in enumerate(lines) if line.startswith("±"))
    assert max(map(len, lines[start:end])) <= 80
    assert any(line.startswith("(without neighbours)") for line in lines)
    # No name of a method or of a reference goes on in a second line.
    assert any(line.startswith("gradient boosting  ") for line in lines)
    assert any(line.startswith("ridge regression  ") for line in lines)


@pytest.mark.parametrize("score", ["balanced-accuracy", "log-loss"])
def test_all_columns_have_room_beside_accuracy(
    score: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "states.csv"
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{int(a > 1)}" for a, b in rng.normal(size=(120, 2))]
    path.write_text("\n".join(["a,b,y", *rows]))
    options = ["--methods", "standardised,lda", "--splits", 2, "--score", score]
    lines = run("compare", path, *options).stdout.splitlines()
    rule = next(i for i, line in enumerate(lines) if line.startswith("──"))
    assert len(lines[rule]) <= 80
    assert lines[rule - 1].split()[-2:] == ["(s)", "(µs)"]
    for line in lines[rule + 1 : rule + 3]:
        # Time of the fit, time of a query: both whole.
        assert re.search(r" \d+\.\d{3} +\d+\.\d$", line)


def test_numbers_to_predict(table: Path) -> None:
    outcome = run("compare", table, "--target", "price", "--splits", 2)
    assert outcome.exit_code == 0, outcome.output
    assert "target 'price' (numbers)" in outcome.stdout
    assert "R²" in outcome.stdout
    assert "nca" in outcome.stdout


def test_no_target(table: Path) -> None:
    outcome = run(
        "compare", table, "--no-target", "--methods", "gaussian", "--splits", 1
    )
    assert outcome.exit_code == 0, outcome.output
    assert "no target" in outcome.stdout
    assert "nats" in outcome.stdout


def test_json(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    outcome = run("compare", table, "--target", "kind", *QUICK, "--json", path)
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(path.read_text())
    assert found["target"] == "kind"
    assert found["best"] in ("lda", "euclidean")
    assert len(found["methods"][0]["scores"]) == 3
    kinds = {one["column"]: one["kind"] for one in found["columns"]}
    assert kinds["shop"] == "constant"
    assert kinds["colour"] == "category"


def test_json_on_standard_output(table: Path) -> None:
    outcome = run("compare", str(table), "--target", "kind", *QUICK, "--json", "-")
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(outcome.stdout)
    assert found["recommended"] in ("lda", "euclidean")
    assert found["verdict"] in outcome.stderr


def test_the_help_lists_the_methods() -> None:
    said = run("compare", "-h").stdout.replace("\n", " ")
    words = set(re.findall(r"[\w-]+", said))
    assert words >= {*METHODS, "neural-nca"}  # which needs PyTorch


def test_report(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    outcome = run("compare", table, "--target", "kind", *QUICK, "--report", path)
    assert outcome.exit_code == 0, outcome.output
    page = path.read_text()
    assert "customer_id" in page
    assert "<i>warm" not in page
    assert "[bold]<script>" not in page
    assert sorted(tmp_path.iterdir()) == sorted([path, table])


def test_rows_of_the_report_are_those_of_the_file(tmp_path: Path) -> None:
    lines = [f"{i % 7}.5,{i * i % 11},{'' if i % 4 == 0 else i}" for i in range(40)]
    table, path = tmp_path / "gaps.csv", tmp_path / "page.html"
    table.write_text("\n".join(["a,b,target", *lines]))
    methods = ("--methods", "standardised", "--splits", "1")
    outcome = run("compare", table, "--task", "regression", *methods, "--report", path)
    assert outcome.exit_code == 0, outcome.output
    data = re.search(r'id="data">(.*?)</script>', path.read_text())
    assert data is not None
    found = json.loads(data[1])
    numbers = np.frombuffer(b64decode(found["rows"]), "<u4")
    # Every fourth row has no target; each other one is its own number.
    assert found["values"] == numbers.tolist()
    # The page shows the held-out rows, three in ten of the 30.
    assert len(numbers) == 9
    assert (numbers % 4).all()


@pytest.mark.parametrize(
    "options", [("--methods", "pca"), ("--no-target", "--methods", "gaussian")]
)
def test_images_keep_their_constant_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        "vicinal.app.comparison.Comparison.to_html",
        lambda self, path, **options: given.update(options),
    )
    page = tmp_path / "page.html"
    arguments = ("compare", "digits", *options, "--splits", "1")
    outcome = run(*arguments, "--report", page, "--image-shape", "8x8")
    assert outcome.exit_code == 0, outcome.output
    assert given["image_shape"] == (8, 8)
    np.testing.assert_array_equal(given["images"], load("digits").X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nope", "nope"),
        ("iris --methods lmn", "methods must be some of euclidean"),
        ("iris --methods nca,ldaa", "got 'ldaa': did you mean 'lda'?"),
        ("iris --score f1", "score must be auto or accuracy"),
        ("iris --n-components 9", "exceeds the 4 features"),
        ("iris --time-budget soon", "write it like 60s"),
        ("iris --time-budget 0", "write it like 60s"),
        ("iris --image-shape 8", "write it like 28x28"),
        ("iris --image-shape 8x8", "64 pixels, but there are 4 columns"),
        ("iris --report no/such/page.html", "There is no folder"),
        ("iris --json .", "is a folder"),
        ("iris --target sepal", "sepal length (cm)"),
        ("iris --target target --no-target", "not both"),
        ("iris --no-target --methods nca", "without a target"),
    ],
)
def test_mistakes_end_with_a_message(arguments: str, message: str) -> None:
    assert_error_line(run("compare", *arguments.split()), message)


def test_two_outputs_are_two_files(table: Path, tmp_path: Path) -> None:
    goal = tmp_path / "out"
    outcome = run("compare", table, "--json", goal, "--report", goal)
    assert_error_line(outcome, "--report and --json are the same file")


def test_the_data_are_not_written_over(table: Path) -> None:
    before = table.read_bytes()
    outcome = run("compare", table, "--target", "kind", "--json", table)
    assert_error_line(outcome, "is the data")
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("a,b,kind\n", "no rows"),
        ("a,b,kind\n1,2,x\n3,4,y\n5,6\n7,8,9,z\n", "line"),
        ("a,kind\n1,x\n2,x\n3,x\n", "in every row"),
        ("a,kind\n1,p\n2,q\n3,r\n4,s\n", "kind"),
        ("a,kind\n1," + "z" * 10_000_000 + "\n", "cell"),
    ],
)
def test_files_of_no_use(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    outcome = run("compare", path, "--target", "kind", "--json", tmp_path / "o.json")
    assert_error_line(outcome, message)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pathlib import Path as AnyPath

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(AnyPath, "write_text", full)
    goal = tmp_path / "out.json"
    outcome = run("compare", table, "--target", "kind", *QUICK, "--json", goal)
    assert_error_line(outcome, "No space left on device")
    assert list(tmp_path.iterdir()) == [table]


def test_numbers_whose_squares_are_none(tmp_path: Path) -> None:
    lines = [f"{i + 1}e300,{'ab'[i % 2]}" for i in range(30)]
    path = tmp_path / "huge.csv"
    path.write_text("\n".join(["size,kind", *lines]))
    assert_error_line(
        run("compare", path, "--target", "kind"), "'size' has numbers beyond"
    )


def test_names_are_no_commands_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("a,\x1b[31mb\n1,2\n2,3\n")
    outcome = run("compare", path, "--target", "qqqqqqq")
    assert_error_line(outcome, "it has a, �[31mb.")


def test_wide_tables_keep_numbers_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.3f},{b:.3f},{i % 20 == 0}"
        for i, (a, b) in enumerate(rng.normal(size=(200, 2)))
    ]
    path = tmp_path / "rare.csv"
    path.write_text("\n".join(["a,b,y", *rows]))
    outcome = run("compare", path, "--methods", "standardised,lda", "--splits", 1)
    assert outcome.exit_code == 0, outcome.output
    assert "balanced" in outcome.stdout
    assert "dimensio…" not in outcome.stdout
    assert "(µs)" in outcome.stdout
    (line,) = [one for one in outcome.stdout.splitlines() if one.startswith("standard")]
    assert " ± " in line
