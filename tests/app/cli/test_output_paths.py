from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.cli.conftest import assert_error_line, run
from vicinal.app.cli.options import check_distinct, check_output_path


def test_one_file_under_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.html").symlink_to(tmp_path / "r.html")
    (tmp_path / "old").write_text("")
    (tmp_path / "hard").hardlink_to(tmp_path / "old")
    for one, other in [
        ("r.html", "./r.html"),
        ("r.html", str(tmp_path / "x" / ".." / "r.html")),
        ("r.html", "link.html"),
        ("old", "hard"),
    ]:
        with pytest.raises(ValueError, match="--report and --json are the same file"):
            check_distinct(report=Path(one), json=Path(other))
    check_distinct(report=Path("a"), json=Path("b"))
    check_distinct(report=None, json=None)


def test_the_ending_of_a_table_says_its_format(tmp_path: Path) -> None:
    for name in ("t.csv", "t.PARQUET"):
        check_output_path(tmp_path / name, {"data": "iris"}, ".csv", ".parquet")
    with pytest.raises(ValueError, match=r"'t.html' must end in \.csv or \.tsv"):
        check_output_path(tmp_path / "t.html", {"data": "iris"}, ".csv", ".tsv")


def test_a_report_is_a_page(tmp_path: Path) -> None:
    outcome = run("compare", "iris", "--report", tmp_path / "r.pdf")
    assert_error_line(outcome, "'r.pdf' must end in .html")
    outcome = run(
        *["adapt", "--queries", "q", "--documents", "d", "--relevance", "r"],
        *["-o", tmp_path / "m", "--report", tmp_path / "r.pdf"],
    )
    assert_error_line(outcome, "'r.pdf' must end in .html")
    assert list(tmp_path.iterdir()) == []
