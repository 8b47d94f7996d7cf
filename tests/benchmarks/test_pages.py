"""The benchmarks' page and README's table, from a small file of stored results."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import MARKS, main, page, readme, stored

README = f"# name\n\n{MARKS[0]}\nold\n{MARKS[1]}\n\nrest\n"


def results(date: str, ours: float) -> dict[str, Any]:
    times = {"ours": [ours, ours, ours], "peer": [0.4, 0.5, 0.6]}
    return {
        "date": f"{date}T10:00:00+00:00",
        "machine": "x86_64, 2 cores, some processor",
        "load": [0.25, 0.5, 0.5],
        "python": "3.11.7",
        "versions": {"vicinal": "0.1.0", "numpy": "2.4.6"},
        "results": {"evaluation 6,000 × 50": times, "LDG digits, of LDA": times},
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "docs" / "benchmarks"
    folder.mkdir(parents=True)
    (tmp_path / "README.md").write_text(README, "utf-8")
    for name, date, ours in (("a", "2026-01-02", 0.25), ("b", "2026-03-04", 0.05)):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(results(date, ours)), "utf-8")
    return tmp_path


def test_the_page_has_the_newest_file_and_those_before(root: Path) -> None:
    text = page(stored(root / "docs" / "benchmarks"))
    of_nca, _, others = text.partition("## Beside something")
    assert "| evaluation 6,000 × 50 | 500 ms | 50 ms | 10× ± " in of_nca
    assert "| LDG digits, of LDA | 500 ms | 50 ms | 10× ± " in others
    assert "2026-03-04, 3 rounds, x86_64, 2 cores, some processor" in text
    assert "vicinal 0.1.0, numpy 2.4.6" in text
    assert "| evaluation 6,000 × 50 | 10× | 2.0× |" in text


def test_readme_has_the_tasks_of_the_same_peer(root: Path) -> None:
    text = readme(README, stored(root / "docs" / "benchmarks"))
    assert "| evaluation 6,000 × 50 | 500 ms | 50 ms |" in text
    assert "LDG" not in text
    assert "old" not in text
    assert text.startswith("# name\n")
    assert text.endswith("\n\nrest\n")


def test_without_results_nothing_is_claimed() -> None:
    assert "No results are stored yet" in page([])
    assert readme(README, []) == f"# name\n\n{MARKS[0]}\n{MARKS[1]}\n\nrest\n"


def test_a_readme_without_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no"):
        readme("# name", [])


def test_stale_files_are_found_and_written(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not main(root, check=True)
    assert "README.md is not what the stored results give" in capsys.readouterr().out
    assert not main(root)
    assert main(root, check=True)


def test_what_is_in_the_repository_is_what_its_results_give() -> None:
    assert main(check=True)
