"""Check a folder of data against the manifest, or fetch the tables that OpenML has.

``python -m benchmarks.data`` compares the folder named by `VICINAL_DATA` with
``benchmarks/data.json``. With ``--fetch``, tables that are missing and have a number on
OpenML are downloaded. With ``--write``, the manifest takes the folder's checksums.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml

MANIFEST = Path(__file__).with_suffix(".json")
Entry = dict[str, Any]


def described(path: Path) -> Entry:
    """Return the size and the checksum of a table.

    Of arrays X and y, the checksum is that of X in float32 and of the targets; classes
    are counted as they come, so that their names do not matter.
    """
    if path.suffix == ".csv":
        text = path.read_text(encoding="utf-8")
        columns = text.partition("\n")[0].count(",") + 1
        return _entry([(len(text.splitlines()) - 1, columns)], text.encode())
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in sorted(stored.files)}
    if "X" not in arrays:
        data = b"".join(name.encode() + of.tobytes() for name, of in arrays.items())
        return _entry([of.shape for of in arrays.values()], data)
    X, y = arrays["X"], arrays["y"]
    if y.dtype.kind != "f":
        _, first, y = np.unique(y, return_index=True, return_inverse=True)
        y = np.argsort(np.argsort(first))[y]
    return _entry([X.shape], X.astype("<f4").tobytes() + y.astype("<f4").tobytes())


def _entry(shapes: Iterable[tuple[int, ...]], data: bytes) -> Entry:
    size = ", ".join(" × ".join(f"{n:,}" for n in shape) for shape in shapes)
    return {"size": size, "sha256": hashlib.sha256(data).hexdigest()}


def check(folder: Path, manifest: dict[str, Entry]) -> dict[str, str]:
    """Return "ok", "differs" or "missing" for each file of the manifest."""
    found = {}
    for name, entry in manifest.items():
        path = folder / name
        if not path.exists():
            found[name] = "missing"
        else:
            same = described(path)["sha256"] == entry["sha256"]
            found[name] = "ok" if same else "differs"
    return found


def fetch(path: Path, number: int) -> None:
    """Write a data set of OpenML, in the form that the benchmarks read.

    Parameters
    ----------
    path : Path
        The file, ``.csv`` for a table with categories, otherwise ``.npz``.
    number : int
        Of the data set on OpenML.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        bunch = fetch_openml(data_id=number, as_frame=True, parser="auto")
        bunch.data.assign(target=bunch.target).to_csv(path, index=False)
        return
    bunch = fetch_openml(data_id=number, as_frame=False, parser="liac-arff")
    try:
        y = bunch.target.astype(np.float32)
        y = y.astype(np.int64) - int(y.min()) if (y == y.round()).all() else y
    except ValueError:
        y = np.unique(bunch.target, return_inverse=True)[1]
    np.savez_compressed(path, X=bunch.data.astype(np.float32), y=y)


def main() -> int:
    """Parse the command line; return 1 if a file is missing or differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data")
    parser.add_argument("--fetch", action="store_true", help="what OpenML has")
    parser.add_argument("--write", action="store_true", help="write the manifest")
    given = parser.parse_args()
    if "VICINAL_DATA" not in os.environ:
        parser.error("Set VICINAL_DATA to the folder of the data.")
    folder = Path(os.environ["VICINAL_DATA"])
    manifest: dict[str, Entry] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    if given.fetch:
        for name, entry in manifest.items():
            if "openml" in entry and not (folder / name).exists():
                print(f"fetching {name} …", flush=True)
                fetch(folder / name, entry["openml"])
    if given.write:
        for name, entry in manifest.items():
            entry.update(described(folder / name))
        MANIFEST.write_text(
            json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    found = check(folder, manifest)
    for name, state in found.items():
        source = "" if state == "ok" else f"  ({manifest[name]['source']})"
        print(f"{state:8}{name}{source}")
    return int(set(found.values()) != {"ok"})


if __name__ == "__main__":
    sys.exit(main())
