from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from vicinal._files import atomic_write, check_writable


def test_what_is_there_stays_until_the_end(tmp_path: Path) -> None:
    goal = tmp_path / "a.txt"
    goal.write_text("old")
    with atomic_write(goal) as temporary:
        temporary.write_text("new")
        assert goal.read_text() == "old"
        assert temporary.suffix == ".txt"
    assert goal.read_text() == "new"
    assert list(tmp_path.iterdir()) == [goal]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_failure(tmp_path: Path, error: BaseException) -> None:
    goal = tmp_path / "a.txt"

    def fail_half_way() -> None:
        with atomic_write(goal) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    with atomic_write(tmp_path / "ours") as temporary:
        temporary.write_text("")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_no_such_folder(tmp_path: Path) -> None:
    goal = tmp_path / "no" / "a.txt"
    with pytest.raises(ValueError, match="no folder"), atomic_write(goal):
        pytest.fail("there is nowhere to write to")


def test_links_stay(tmp_path: Path) -> None:
    goal, link = tmp_path / "goal.txt", tmp_path / "link.txt"
    goal.write_text("old")
    link.symlink_to(goal)
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert goal.read_text() == "new"


def test_a_disk_that_is_full_at_the_end_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = tmp_path / "page.html"
    goal.write_text("before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OSError, match="No space left"),
        atomic_write(goal) as temporary,
    ):
        temporary.write_text("after")
    assert goal.read_text() == "before"
    assert list(tmp_path.iterdir()) == [goal]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="not a regular file"), atomic_write(pipe):
        pytest.fail("the pipe would be lost")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_to_itself(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(ValueError, match="leads nowhere but to itself"):
        check_writable(one)
    with pytest.raises(ValueError, match="itself"), atomic_write(one):
        pytest.fail("there is no file behind the link")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_folder_in_which_nothing_can_be_written() -> None:
    with pytest.raises(ValueError, match=r"No file can be written in /proc \(.+\); wr"):
        check_writable("/proc/model.safetensors")


def test_a_check_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    goal = tmp_path / "a.txt"
    full = OSError(errno.ENOSPC, "No space left on device")
    expected = rf"a\.txt could not be written: {full.strerror}\."
    with pytest.raises(OSError, match=expected), atomic_write(goal):
        raise full
