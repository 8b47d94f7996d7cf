"""Hostile files, made on the fly, given to the command."""

import gzip
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.random import Generator

from benchmarks.hostile.cases import Wrong
from benchmarks.hostile.data import choose, table
from tests.app.tables.test_workbooks import workbook

PROGRAM = "import sys; from vicinal.app.cli import main; sys.exit(main())"
# Runs one command after another, so that libraries are loaded once.
_WORKER = """
import json, os, sys, tempfile, traceback
from vicinal.app.cli import main
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    asked = json.loads(line)
    os.chdir(asked["folder"])
    sys.argv = ["vicinal", *asked["arguments"]]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1); os.dup2(err.fileno(), 2)
        try:
            code = main()
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc(); code = 1
        sys.stdout.flush(); sys.stderr.flush()
        said = []
        for file in (out, err):
            file.seek(0); said.append(file.read().decode(errors="replace"))
    json.dump([code or 0, *said], answers)
    answers.write("\\n"); answers.flush()
"""
_WORDS = ["", " ", "a", "ja", "nein", "1", "2", "3.5", "-1e400", "1e20", "1e-320",
          "NaN", "inf", "NULL", "2020-01-01", "31.12.1999", "1,5", "0x10", "١٢",
          "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "é", "𝒳", '"', "a" * 3000,
          "True", "99999999999999999999", "\x1b[31m", "\u202e", "#",
          "\\"]  # fmt: skip
_ESCAPES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e]")
_workers: list["subprocess.Popen[str]"] = []


def command(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run the command in a process that is kept; return its code and what it said."""
    if not _workers or _workers[0].poll() is not None:
        _workers[:] = [
            subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, "-c", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        ]
    worker = _workers[0]
    assert worker.stdin is not None  # noqa: S101  for mypy
    assert worker.stdout is not None  # noqa: S101
    print(
        json.dumps({"arguments": arguments, "folder": str(folder)}),
        file=worker.stdin,
        flush=True,
    )
    answer = worker.stdout.readline()
    if not answer:
        raise Wrong(f"the process died of `vicinal {' '.join(arguments)}`")
    code, said, errors = json.loads(answer)
    return int(code), str(said), str(errors)


def check_said(
    code: int, said: str, errors: str, what: str, codes: tuple[int, ...] = (0, 2)
) -> None:
    """Raise Wrong where a command ended with more or less than a clear sentence."""
    last = (errors.strip().splitlines() or [""])[-1]
    if "Traceback" in errors or code not in codes:
        raise Wrong(f"{what}: exit code {code}, {last[:300]}")
    if found := _ESCAPES.search(said + errors):
        raise Wrong(f"{what}: {found[0]!r} reaches the terminal")
    if code == 2 and len(last) < 20:
        raise Wrong(f"{what}: refused without a reason")


def case(rng: Generator) -> bool:
    """Write a hostile file, and give it to a command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        makers = _text, _text, _text, _bytes, _parquet, _npz, _cut, _typed, _named
        maker = choose(rng, *makers, _large_in_memory)
        path = maker(rng, folder)
        named = "target" if path.suffix == ".npz" else "y"
        target = ["--no-target"] if rng.random() < 0.2 else ["--target", named]
        free = len(target) == 1
        fit = ["fit", path.name, *target, "-o", "m.safetensors", "--method"]
        learned = ["pca"], ["ldg"], ["lda"], ["nca", "--max-iter", "2"]
        fit += ["pca"] if free else choose(rng, *learned)
        compare = ["compare", path.name, *target, "--splits", "1"]
        methods = "gaussian,kernel-density" if free else "euclidean,pca"
        compare += ["--methods", methods, "--report", "r.html"]
        arguments = choose(rng, fit, fit, compare)
        code, said, errors = command(arguments, folder)
        what = f"`vicinal {' '.join(arguments)}` on a file of {maker.__name__}"
        check_said(code, said, errors, what)
        if code == 2:
            if (folder / "m.safetensors").exists():
                raise Wrong(f"{what}: refused, and a model is there")
            return True
        page = folder / "r.html"
        if page.exists() and "<script>alert" in page.read_text():
            raise Wrong(f"{what}: a script of the table is in the page")
        if arguments is fit:
            again = ["transform", "m.safetensors", path.name, "-o"]
            check_said(*command([*again, "o.csv"], folder), f"{what}, then transform")
            again += ["o.npz", "--keep-all"]
            check_said(*command(again, folder), f"{what}, then transform to npz")
            _check_members(folder / "o.npz")
            if rng.random() < 0.05:
                _full_disk([*again[:3], "-o", "full.csv"], folder)
        return False


def _check_members(path: Path) -> None:
    """Raise Wrong for an archive with members of one name, or outside a folder."""
    if not path.exists():
        return
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if len({*names}) < len(names) or any(re.search(r"[/\\\0]", one) for one in names):
        raise Wrong(f"an archive has members of the names {names}")


def _full_disk(arguments: list[str], folder: Path) -> None:
    """Raise Wrong unless a command without space says which file it could not write."""
    limited = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (512, 512));"
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", f"{limited} {PROGRAM}", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    what = f"`vicinal {' '.join(arguments)}` without space"
    check_said(done.returncode, done.stdout, done.stderr, what)
    if done.returncode and arguments[-1] not in done.stderr:
        raise Wrong(f"{what}: {done.stderr[-300:]} does not name the file")
    if done.returncode and (folder / arguments[-1]).exists():
        raise Wrong(f"{what}: leaves a file")


def _text(rng: Generator, folder: Path) -> Path:
    """Return a file of delimited text: odd words, ragged rows, quotes, encodings."""
    n, d = int(choose(rng, 0, 3, 30, 60, 60)), int(rng.integers(1, 7))
    gap = str(choose(rng, ",", ",", ";", "\t", "|"))
    header = [f"c{j}" for j in range(d)]
    if rng.random() < 0.2:
        header[0] = str(choose(rng, *_WORDS))
    rows = [[*header, "y"]]
    odd = choose(rng, 0.0, 0.02, 0.2)
    for i in range(n):
        row = [f"{rng.normal() + i % 2:.4g}" for _ in range(d)] + ["uv"[i % 2]]
        row = [str(choose(rng, *_WORDS)) if rng.random() < odd else one for one in row]
        if odd > 0.1 and rng.random() < 0.005:
            row = row[: int(rng.integers(len(row) + 1))] + ["x"] * int(rng.integers(3))
        rows.append(row)
    end = str(choose(rng, "\n", "\n", "\r\n", "\r"))
    text = end.join(gap.join(row) for row in rows) + str(choose(rng, end, "", end * 3))
    encoding = str(choose(rng, "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"))
    data = text.encode(encoding, errors="replace")
    name = choose(rng, "a.csv", "a.tsv", "a.txt", "\x1b[31m.csv", "-.csv")
    if rng.random() < 0.1:
        name, data = "a.csv.gz", gzip.compress(data)
    (folder / name).write_bytes(data)
    return folder / name


def _bytes(rng: Generator, folder: Path) -> Path:
    """Return a file of random bytes that calls itself something."""
    endings = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npz", ".xlsx")
    path = folder / f"a{choose(rng, *endings)}"
    path.write_bytes(rng.bytes(int(choose(rng, 0, 1, 7, 500, 5000))))
    return path


def _frame(rng: Generator) -> pl.DataFrame:
    found = table(rng)
    names = [f"c{j}" for j in range(found.plain.shape[1])]
    frame = pl.DataFrame(found.plain, schema=names)
    return frame.with_columns(y=pl.Series([str(one) for one in found.classes]))


def _typed(rng: Generator, folder: Path) -> Path:
    """Return a Parquet or Arrow file with columns of any type."""
    n = int(choose(rng, 0, 1, 2, 40))
    numbers = rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "x": numbers,
            "odd": choose(
                rng,
                pl.Series([[1, 2]] * n, dtype=pl.List(pl.Int64)),
                pl.Series([{"a": 1}] * n, dtype=pl.Struct({"a": pl.Int64})),
                pl.Series([b"\xff"] * n, dtype=pl.Binary),
                pl.Series([None] * n, dtype=pl.Null),
                pl.Series(numbers).cast(pl.Decimal(20, 3), strict=False),
                pl.Series(np.arange(n)).cast(pl.Datetime),
                pl.Series(np.arange(n)).cast(pl.Duration),
                pl.Series([str(k % 3) for k in range(n)]).cast(pl.Categorical),
                pl.Series(np.arange(n)).cast(pl.UInt64) + 2**63,
            ),
            "y": ["uv"[k % 2] for k in range(n)],
        }
    )
    if rng.random() < 0.5:
        frame.write_parquet(folder / "a.parquet")
        return folder / "a.parquet"
    frame.write_ipc(folder / "a.arrow")
    return folder / "a.arrow"


def _parquet(rng: Generator, folder: Path) -> Path:
    """Return a Parquet or Arrow file of a hostile table, damaged or whole."""
    ending = choose(rng, "parquet", "arrow")
    path = folder / f"a.{ending}"
    getattr(_frame(rng), "write_parquet" if ending == "parquet" else "write_ipc")(path)
    if rng.random() < 0.6:
        data = bytearray(path.read_bytes())
        for _ in range(int(rng.integers(1, 6))):
            data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(data)
    return path


def _npz(rng: Generator, folder: Path) -> Path:
    """Return an npz file: odd arrays, sizes that lie, bombs, objects."""
    path = folder / "a.npz"
    n = int(choose(rng, 0, 1, 40))
    X, y = rng.normal(size=(n, 3)), np.arange(n) % 2
    kind = choose(rng, "odd", "bomb", "lie", "whole")
    if kind == "odd":
        X = choose(rng, X[:, :0], X[None], X.astype(complex), X.astype(object), y, X.T)
        np.savez(path, X=X, y=choose(rng, y, y[:-1], y[:, None], y.astype("M8[s]")))
    elif kind == "bomb":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("X.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(
                    file,
                    {"descr": "<f8", "fortran_order": False, "shape": (10**8, 50)},
                )
                file.write(bytes(10**7))
            archive.writestr("y.npy", b"")
    elif kind == "lie":
        whole = io.BytesIO()
        np.savez(whole, X=X, y=y)
        data = whole.getvalue().replace(b"(40, 3)", b"(4**9,)")
        path.write_bytes(data.replace(b"'<f8'", choose(rng, b"'|O8'", b"'<f9'")))
    else:
        np.savez_compressed(path, X=X, y=y)
    return path


def _named(rng: Generator, folder: Path) -> Path:
    """Return a Parquet file with columns that are named like patterns or paths."""
    odd = ["^c.*$", "^.*$", "*", "X.npy", "X.npy\0", "../../x", "a\\b", "", "c0"]
    frame = _frame(rng).head(40)
    names = [str(choose(rng, *odd, name)) for name in frame.columns[:-1]]
    names = [
        f"{name}{i}" if name in names[:i] else name for i, name in enumerate(names)
    ]
    frame.columns = [*names, "y"]
    frame.write_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def _large_in_memory(rng: Generator, folder: Path) -> Path:
    """Return a small file that takes much memory: nested, many keys, far cells."""
    depth = int(10 ** rng.uniform(1, 4))
    nested = choose(rng, "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth)
    keys = "\n".join(f'{{"k{i}": 1}}' for i in range(3 * depth))
    name, text = choose(rng, ("a.json", nested), ("a.jsonl", nested), ("a.jsonl", keys))
    if rng.random() < 0.3:
        place = str(choose(rng, "XFD1048576", "ZZZZ1", "A99999999999", "A0", "XFE2"))
        far = f'<row><c r="{place}"><v>1</v></c></row>'
        return workbook(folder / "a.xlsx", [["x", "y"], ["1", "2"]], more=far)
    (folder / name).write_text(text)
    return folder / name


def _cut(rng: Generator, folder: Path) -> Path:
    """Return a file that ends in the middle."""
    path = choose(rng, _text, _parquet, _npz)(rng, folder)
    data = path.read_bytes()
    path.write_bytes(data[: int(rng.integers(len(data) + 1))])
    return path
