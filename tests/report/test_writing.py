import errno
import os
from pathlib import Path
from typing import Any

import pytest

from vicinal.report import write


def test_text_is_written_in_utf_8_with_plain_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write(path, "ä\n€\n")
    assert path.read_bytes() == "ä\n€\n".encode()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    write(tmp_path / "new", "")
    (tmp_path / "usual").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    (tmp_path / "new").chmod(0o600)
    write(tmp_path / "new", "again")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")

    def full(_: int) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "none" / "page.html", "text")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("before")
    (tmp_path / "here").symlink_to(tmp_path / "there")
    write(tmp_path / "here", "after")
    assert (tmp_path / "here").is_symlink()
    assert (tmp_path / "there").read_text() == "after"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_device_is_written_to_and_not_replaced() -> None:
    with pytest.raises(OSError, match="No space left"):
        write("/dev/full", "text")
    assert Path("/dev/full").is_char_device()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write(tmp_path, "text")
