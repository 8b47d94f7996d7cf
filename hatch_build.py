"""The description of the package: README with links that work outside the repository.

Package indexes show README without the files beside it. Where the project has a home,
``home`` in pyproject.toml or else the variable VICINAL_HOME, links to files lead to the
tag of the version there; without one, README is taken as it is.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Of Markdown and of HTML: what comes before a path, and the path. Addresses and anchors
# of the page itself stay as they are.
_PICTURE = re.compile(r'(!\[[^\]]*\]\(|\bsrc=")(?![a-z]+:|#)([^)"\s]+)')
_LINK = re.compile(r'((?<!!)\[[^\]]*\]\(|\bhref=")(?![a-z]+:|#)([^)"\s]+)')


def absolute(text: str, home: str, version: str) -> str:
    """Let pictures and links of a page at the root lead to the tag of a version."""
    text = _PICTURE.sub(rf"\1{home}/raw/v{version}/\2", text)
    return _LINK.sub(rf"\1{home}/blob/v{version}/\2", text)


class CustomMetadataHook(MetadataHookInterface):
    """Sets the description when the package is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README, and put it into the metadata."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        home = self.config.get("home") or os.environ.get("VICINAL_HOME", "")
        if home:
            text = absolute(text, home.rstrip("/"), _version(Path(self.root)))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _version(root: Path) -> str:
    source = (root / "src" / "vicinal" / "__init__.py").read_text("utf-8")
    return source.split('__version__ = "')[1].split('"')[0]
