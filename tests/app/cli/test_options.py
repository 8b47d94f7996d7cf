from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.app.cli.conftest import assert_error_line, run
from vicinal.app.cli.options import ask_for_target, seconds_of, shape_of, threads_of
from vicinal.app.models import load
from vicinal.app.tables.names import NoTargetError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("1.5m", 90), ("2 min", 120), ("1h", 3600), ("7", 7), ("none", None)],
)
def test_spans_of_time(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["28x28", "28X28", "28×28", "28,28"])
def test_shapes(text: str) -> None:
    assert shape_of(text) == (28, 28)


@pytest.mark.parametrize(
    ("jobs", "threads"), [(None, None), (-1, -1), (1, 1), (8, 8), (100_000, 8)]
)
def test_no_more_threads_than_cores(
    jobs: int | None, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert threads_of(jobs) == threads


@pytest.mark.parametrize("jobs", [0, -2])
def test_numbers_of_threads_that_make_no_sense(jobs: int) -> None:
    with pytest.raises(ValueError, match="--jobs is 1 or more threads, or -1"):
        threads_of(jobs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare iris --splits 0", "Invalid value for"),
        ("compare iris --neighbors 0", "is not a number from 1"),
        ("compare iris --task ranking", "'ranking' is not one of 'classification'"),
        ("fit iris --task cooking -o m.st", "'cooking' is not one of 'classification'"),
        ("fit iris --rows 0 -o m.st", "Invalid value for"),
        ("fit iris --n-components 0 -o m.st", "Invalid value for"),
        ("fit iris --max-iter 0 -o m.st", "Invalid value for"),
        ("neighbors m.st iris --query 0 -k 0", "Invalid value for"),
        ("predict m.st iris --among iris -k 0 -o o.csv", "Invalid value for"),
    ],
)
def test_values_out_of_range(arguments: str, message: str) -> None:
    outcome = run(*arguments.split())
    assert outcome.exit_code == 2
    assert message in outcome.stderr


def table(tmp_path: Path) -> Path:
    path = tmp_path / "shop.csv"
    lines = [
        f"{i * 3};{i % 4};{i % 5}/2/2024;{i % 7},5;{'ab'[i % 2]}" for i in range(1, 41)
    ]
    lines = [line.replace(";0/", ";6/") for line in lines]
    path.write_text("\n".join(["step;code;day;width;colour", *lines]))
    return path


def test_decisions_are_overruled(tmp_path: Path) -> None:
    path = table(tmp_path)
    words = (
        f"--target colour --splits 1 --methods euclidean --json {tmp_path / 'o.json'}"
    )
    more = "--drop width --categorical code --number step --date day=%d/%m/%Y"
    outcome = run("compare", path, *words.split(), *more.split(), "--decimal", ",")
    assert outcome.exit_code == 0, outcome.output
    columns = json.loads((tmp_path / "o.json").read_text())["columns"]
    kinds = {one["column"]: one["kind"] for one in columns}
    assert kinds == {
        "step": "number",
        "code": "category",
        "day": "date",
        "width": "dropped",
        "colour": "target",
    }
    outcome = run("compare", path, "--target", "colour", "--drop", "wdth")
    assert_error_line(outcome, "The table has no column 'wdth'; did you mean 'width'?")


def test_a_model_keeps_what_was_said(tmp_path: Path) -> None:
    path, model = table(tmp_path), tmp_path / "m.st"
    said = ("--categorical", "code", "--drop", "step", "--date", "day=%d/%m/%Y")
    outcome = run("fit", path, "--target", "colour", *said, "-o", model)
    assert outcome.exit_code == 0, outcome.output
    names = load(model).columns.feature_names
    assert names == ["code=0", "code=1", "code=2", "code=3", "day", "width"]
    outcome = run("transform", model, path, "-o", tmp_path / "out.csv")
    assert outcome.exit_code == 0, outcome.output


def test_no_target_in_a_pipe_is_an_error_with_the_likely_ones(tmp_path: Path) -> None:
    for command in (("compare",), ("fit", "-o", tmp_path / "m.st")):
        outcome = run(command[0], table(tmp_path), *command[1:])
        assert_error_line(
            outcome, "name the target with --target ('colour', 'code', 'width')"
        )
    outcome = run("fit", table(tmp_path), "--method", "pca", "-o", tmp_path / "m.st")
    assert outcome.exit_code == 0, outcome.output
    assert "no target: name it if there is one (--target)" in outcome.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answers", "expected"),
    [(["kind"], "kind"), (["knd", " kind "], "kind"), (["none"], None)],
)
def test_a_terminal_is_asked(
    monkeypatch: pytest.MonkeyPatch, answers: list[str], expected: str | None
) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", shown)
    given: list[dict[str, Any]] = []

    def prompt(_: str, **options: Any) -> str:
        given.append(options)
        return answers.pop(0)

    monkeypatch.setattr("typer.prompt", prompt)
    error = NoTargetError("t", ["kind", "width"])
    asked_twice = len(answers) == 2
    assert ask_for_target(error, ["width", "kind"]) == expected
    assert given[0] == {"default": "kind", "err": True}
    assert "Perhaps: kind, width" in shown.getvalue()
    assert ("did you mean 'kind'?" in shown.getvalue()) == asked_twice


def test_nobody_is_asked_where_nobody_sits(monkeypatch: pytest.MonkeyPatch) -> None:
    error = NoTargetError("t", [])
    monkeypatch.setattr("sys.stderr", Terminal())
    for stream in (None, io.StringIO()):
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(ValueError, match="no column looks like one"):
            ask_for_target(error, ["a"])


def test_a_method_that_needs_labels_is_not_offered_to_go_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = NoTargetError("t", ["kind"])
    with pytest.raises(ValueError, match="since nca needs one") as caught:
        ask_for_target(error, ["kind"], "nca")
    assert "--no-target" not in str(caught.value)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", Terminal())
    answers, questions = ["none", "kind"], []

    def prompt(question: str, **_: Any) -> str:
        questions.append(question)
        return answers.pop(0)

    monkeypatch.setattr("typer.prompt", prompt)
    assert ask_for_target(error, ["kind"], "nca") == "kind"
    assert questions == ["Its name"] * 2


@pytest.mark.parametrize(
    ("arguments", "offered"),
    [
        ("fit t.csv --method nca -o m.st", False),
        ("compare t.csv --methods pca,lda", False),
        ("compare t.csv --methods lca", True),
        ("compare t.csv", True),
    ],
)
def test_no_target_is_offered_where_it_helps(
    folder: Path, arguments: str, offered: bool
) -> None:
    (folder / "t.csv").write_text(
        "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(30))
    )
    outcome = run(*arguments.split())
    assert outcome.exit_code == 2
    assert "name the target with --target" in outcome.stderr
    assert ("--no-target" in outcome.stderr) == offered
