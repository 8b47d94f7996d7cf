import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.report.driving import read_by_a_shell
from vicinal.app.report.commands import fit_command, shell_command, shown_command
from vicinal.app.report.text import short


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        min_size=1,
    )
)
def test_a_shell_reads_what_was_meant(arguments: list[str]) -> None:
    line = shell_command(arguments)
    # Nothing in it has to be replaced to be shown.
    assert short(line, len(line)) == line
    assert read_by_a_shell(line) == arguments


def test_a_command_is_whole_or_said_not_to_be() -> None:
    assert shown_command(None) is None
    assert shown_command("vicinal compare x") == {
        "line": "vicinal compare x",
        "whole": True,
    }
    cut = shown_command(["x" * 9000])
    assert cut is not None
    assert not cut["whole"]


@pytest.mark.parametrize(
    ("ran", "fit"),
    [
        ("a.csv", "a.csv"),
        ("a.csv --target=kind --methods nca,lda --json -", "a.csv --target=kind"),
        ("--no-target a.csv --time-budget 5m --seed 3", "a.csv --no-target --seed 3"),
        ("--report=r.html --jobs 2 -- -a.csv", "./-a.csv --jobs 2"),
        ("a.csv --drop x --drop y", "a.csv --drop x --drop y"),
        ("a.csv -k 5 --score log-loss", "a.csv -k 5 --score log-loss"),
        ("-k5 a.csv --splits 3", "a.csv -k5"),
    ],
)
def test_the_same_table_is_learned_from(ran: str, fit: str) -> None:
    found = fit_command(["vicinal", "compare", *ran.split()], "nca")
    assert found is not None
    assert " ".join(found) == f"vicinal fit {fit} --method nca -o nca.safetensors"


def test_a_target_that_was_found_is_named() -> None:
    ran = ["vicinal", "compare", "a.csv"]
    assert fit_command(ran, "lda", "my kind") == [
        *["vicinal", "fit", "a.csv", "--target", "my kind"],
        *["--method", "lda", "-o", "lda.safetensors"],
    ]
    said = fit_command([*ran, "--target", "kind"], "lda", "other")
    assert said is not None
    assert "other" not in said


@pytest.mark.parametrize(
    "ran", [None, "vicinal compare a.csv", ["python", "x.py"], ["vicinal", "compare"]]
)
def test_nothing_comes_of_other_commands(ran: object) -> None:
    assert fit_command(ran, "nca") is None
