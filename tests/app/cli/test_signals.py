from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from vicinal.app.cli.process import clean_up_on_termination

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

# A file is half written, and the main thread sits in compiled code.
PROGRAM = """
import ctypes, signal
for number in (signal.SIGTERM, signal.SIGHUP):  # under nohup, they are ignored
    signal.signal(number, signal.SIG_DFL)
from vicinal._files import atomic_write
from vicinal.app.cli.process import clean_up_on_termination
clean_up_on_termination()
with atomic_write("a.txt") as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    left = 60
    while left:
        left = ctypes.CDLL(None).sleep(left)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_of_a_command_that_is_terminated(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "a.txt").write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_fork_leaves_the_files_of_its_parent(tmp_path: Path) -> None:
    program = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from vicinal._files import atomic_write
from vicinal.app.cli.process import clean_up_on_termination
clean_up_on_termination()
with atomic_write("a.txt") as temporary:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"!")
        time.sleep(60)
        os._exit(1)
    os.read(reader, 1)
    os.kill(child, signal.SIGTERM)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 128 + signal.SIGTERM
    temporary.write_text("whole" if temporary.exists() else "lost")
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_a_command_in_another_thread_leaves_signals_alone() -> None:
    numbers = (signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    with ThreadPoolExecutor() as pool:
        pool.submit(clean_up_on_termination).result()
    assert [signal.getsignal(number) for number in numbers] == handlers


def test_ctrl_c_while_modules_are_imported() -> None:
    """Whenever it comes after the first line of `main`: no traceback."""
    slow = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == NAME:\n"
        "            print('ready', flush=True)\n"
        "            time.sleep(60)\n"
        "from vicinal.app.cli import main\n"
        "sys.meta_path.insert(0, Slow())\n"
        "main()\n"
    )
    for name in ("vicinal.app.cli.compare", "sklearn", "vicinal.app.models"):
        program = slow.replace("NAME", repr(name))
        with subprocess.Popen(
            [sys.executable, "-c", program, *["fit", "iris", "-o", "m.st"]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert "Traceback" not in process.stderr.read()
