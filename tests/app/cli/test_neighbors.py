from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from tests.app.cli.conftest import assert_error_line, flowers, run, works
from vicinal.app.models import column_shares, load, nearest_rows

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("folder")


def test_new_rows_among_the_training_rows(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--methods", "lda", "-o", "m.st")
    (folder / "new.csv").write_text(
        "id,<script>alert(1)</script>,width\nn1,r,3\nn2,g,17\n"
    )
    out = works(
        *["neighbors", "m.st", "new.csv", "--among", "flowers.csv", "--id", "id"],
        *["-k", "3", "--show", "width", "-o", "near.csv"],
    )
    assert out == "6 neighbours of 2 rows: near.csv\n"
    found = pl.read_csv("near.csv")
    assert found.columns == [
        *["query", "query_id", "rank", "row", "row_id", "distance"],
        *["[bold]kind", "width"],
    ]
    assert found["query_id"].to_list() == ["n1"] * 3 + ["n2"] * 3
    assert found["rank"].to_list() == [1, 2, 3] * 2
    table = pl.read_csv("flowers.csv")
    rows = found["row"].to_list()
    assert found["width"].to_list() == table["width"].gather(rows).to_list()
    assert found["row_id"].to_list() == rows
    # By what the column says, and on the terminal.
    out = works(
        *["neighbors", "m.st", "new.csv", "--among", "flowers.csv", "--id", "id"],
        *["--query", "n2"],
    )
    assert "n2" in out
    assert "n1" not in out
    out = works("neighbors", "m.st", data, "--query", "3", "--query", "5", "-k", "2")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("│")] == [
        *["3"] * 2,
        *["5"] * 2,
    ]


def test_a_row_is_found_by_its_name(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    by_number = works("neighbors", "m.st", data, "--query", "7")
    assert works("neighbors", "m.st", data, "--query", "7", "--id", "id") == by_number


def test_one_row_and_its_nearest_are_called_by_name(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    table = pl.read_csv(data).with_columns(id=pl.format("FLOWER-{}", "id"))
    table.write_csv(data)
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    out = works(
        *["neighbors", "m.st", data, "--query", "FLOWER-7", "--id", "id", "-k", "3"]
    )
    assert "nearest to row FLOWER-7 (" in out
    assert out.count("FLOWER-") == 7
    # Those without a name, by their numbers.
    names = pl.when(pl.int_range(pl.len()) == 7).then("id")
    table.with_columns(id=names).write_csv(data)
    out = works(
        *["neighbors", "m.st", data, "--query", "FLOWER-7", "--id", "id", "-k", "3"]
    )
    rows = [line.split("│")[2].strip(" =") for line in out.splitlines() if "│" in line]
    assert len(rows) == 3
    assert all(row.isdecimal() for row in rows)
    table.write_csv(data)
    # No name is cut, however many columns there are.
    shown = [option for name in table.columns[1:] for option in ("--show", name)]
    out = works(
        *["neighbors", "m.st", data, "--query", "FLOWER-7", "--id", "id", *shown]
    )
    assert "…" not in out


def test_why_names_the_columns_behind_a_distance(folder: Path) -> None:
    table = pl.DataFrame(
        {
            "a": [0.0, 3.0, 0.0, 6.0] * 10,
            "b": [float(i % 7) for i in range(40)],
            "kind": ["u", "v", "w", "u"] * 10,
            "class": ["x", "y"] * 20,
        }
    )
    table.write_csv(folder / "t.csv")
    works("fit", "t.csv", "--target", "class", "--method", "lda", "-o", "m.st")
    out = works("neighbors", "m.st", "t.csv", "--query", "0", "-k", "30", "--why")
    lines = [one for one in out.splitlines() if one.startswith("distance of row ")]
    assert len(lines) == 30
    far = lines[-1].partition(": ")[2]
    shares = {
        part.rsplit(" ", 2)[0]: part.rsplit(" ", 2)[1] for part in far.split(", ")
    }
    assert set(shares) <= {"a", "b", "kind"}  # columns, not their features
    assert sum(map(int, shares.values())) == pytest.approx(100, abs=2)
    outcome = run("neighbors", "m.st", "t.csv", "--why", "-o", "o.csv")
    assert_error_line(outcome, "--why explains the neighbours of one row")


def test_shares_of_columns_sum_to_the_distance(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "nca", "-o", "m.st")
    model = load(folder / "m.st")
    found = nearest_rows(model, str(data), 3, 9).learned
    columns, shares = column_shares(model, str(data), 3, found.rows)
    assert set(columns) <= set(pl.read_csv(data).columns)
    np.testing.assert_allclose(shares.sum(axis=1), found.distances, atol=1e-10)


def test_fewer_rows_than_were_asked_for_are_said(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    n = pl.read_csv(data).height - 1
    for k, note in ((n, ""), (n + 1, f"note: there are no more than {n} other rows\n")):
        outcome = run("neighbors", "m.st", data, "--query", "0", "-k", k)
        assert outcome.exit_code == 0
        assert outcome.stderr == note
    pl.read_csv(data).head(2).write_csv(data)
    outcome = run("neighbors", "m.st", data, "--query", "0", "-k", 2)
    assert outcome.stderr == "note: there are no more than 1 other row\n"


def test_a_table_in_the_place_of_the_model(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    outcome = run("predict", data, "m.st", "--among", data, "-o", "p.csv")
    assert_error_line(outcome, "flowers.csv is cut short, damaged or no model")
    assert "name a file that vicinal.save or `vicinal fit` wrote" in outcome.stderr


def test_predictions(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    outcome = run(
        *["predict", "m.st", data, "--among", data, "-o", "p.csv", "--keep", "id"]
    )
    assert outcome.exit_code == 0
    assert "40 rows predicted: p.csv\naccuracy " in outcome.stdout
    assert "40 rows of DATA also in --among: each is left out" in outcome.stderr
    columns = pl.read_csv("p.csv").columns
    assert columns[:3] == ["id", "predicted", "share"]
    assert all(one.startswith("p_") for one in columns[3:])
    assert "neighbours that vote: " in outcome.stdout
    works(*f"fit {data} --target width --task regression --method pca -o r.st".split())
    out = works("predict", "r.st", data, "--among", data, "-o", "r.parquet")
    assert "R² " in out
    assert pl.read_parquet("r.parquet").columns == ["predicted"]
    works("fit", "iris", "--no-target", "--method", "pca", "-o", "n.st")
    outcome = run(*["predict", "n.st", "iris", "--among", "iris", "-o", "o.csv"])
    assert_error_line(outcome, "learned without a target")


def test_predictions_of_a_rare_class_are_scored_for_it(folder: Path) -> None:
    rows = [f"{i % 7},{i % 5},{'rare' if i % 20 == 0 else 'often'}" for i in range(80)]
    (folder / "t.csv").write_text("\n".join(["a,b,class", *rows]))
    works("fit", "t.csv", "--method", "euclidean", "-o", "m.st", "-k", "9")
    out = works("predict", "m.st", "t.csv", "--among", "t.csv", "-o", "p.csv")
    assert "balanced accuracy 50.0 %, accuracy 95.0 % on the 80 rows" in out


def test_predictions_need_rows_with_a_target(folder: Path) -> None:
    works("fit", "iris", "--method", "pca", "-o", "m.st")
    outcome = run("predict", "m.st", "iris", "-o", "o.csv")
    assert_error_line(outcome, "rows whose target 'target' is known")
    assert "with --among TABLE." in outcome.stderr
    assert not (folder / "o.csv").exists()


def test_one_of_something_is_in_the_singular(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    one = "one.csv"
    (folder / one).write_text("id,<script>alert(1)</script>,width\nn1,r,3\n")
    out = works("neighbors", "m.st", one, "--among", data, "-k", "1", "-o", "n.csv")
    assert out == "1 neighbour of 1 row: n.csv\n"
    assert works("transform", "m.st", one, "-o", "t.csv").startswith("1 row, lda0")
    out = works("predict", "m.st", one, "--among", data, "-o", "p.csv")
    assert out.startswith("1 row predicted: p.csv")


def test_names_that_polars_takes_for_patterns(folder: Path) -> None:
    lines = ["a,^c.*$,*,cat"]
    lines += [
        f"{i * 37 % 11}.5,k{i % 2},n{i},{i * 7 % 5 + 9 * (i % 2)}" for i in range(40)
    ]
    (folder / "t.csv").write_text("\n".join(lines))
    works("fit", "t.csv", "--target", "^c.*$", "--method", "lda", "-o", "m.st")
    query = ["neighbors", "m.st", "t.csv", "--query"]
    assert "^c.*$" in works(*query, "0")
    assert "n4" in works(*query, "n4", "--id", "*")
    shown = works(*query, "0", "--show", "^c.*$", "--show", "*", "-k", "3")
    assert "k0" in shown
    works("neighbors", "m.st", "t.csv", "--id", "^c.*$", "--show", "*", "-o", "o.csv")
    assert (folder / "o.csv").read_text().splitlines()[1].startswith("0,k0,1,")
    works("predict", "m.st", "t.csv", "--among", "t.csv", "--keep", "*", "-o", "o.csv")
    assert (folder / "o.csv").read_text().splitlines()[1].startswith("n0,k0,")
    options = ["--categorical", "^c.*$", "--drop", "*", "--method", "pca"]
    assert "category: ^c.*$" in works(
        "fit", "t.csv", "--target", "cat", *options, "-o", "m.st"
    )
    works("compare", "t.csv", "--target", "^c.*$", "--methods", "pca", "--splits", "2")
