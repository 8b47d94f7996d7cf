from __future__ import annotations

from typing import TYPE_CHECKING

from vicinal.app.cli.display import waiting

if TYPE_CHECKING:
    import pytest


def test_progress_is_shown_beside_the_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with waiting("learning") as say:
        say("judging")
    said = capsys.readouterr()
    assert "judging" in said.err
    assert not said.out
