"""Names and numbers of the netx file, and the error about a file that is not what it should be."""

from __future__ import annotations

import os

VERSION = 2
"""The newest version of the file that this package writes and reads."""

AGAIN = "export the network again with to_netx"
"""The remedy for most damaged files."""

DENSE, DENSE_REC, CONV, INPUT, FLATTEN = "dense", "dense_rec", "conv", "input", "flatten"
TYPES = (DENSE, DENSE_REC, CONV, INPUT)
"""Types of layers that have neurons; ``flatten`` has none."""


class NetxError(ValueError):
    """A file that is not what it should be: which one, where, what was expected and found."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: str,
        expected: str,
        found: str,
        remedy: str = "",
    ):
        self.path, self.dataset, self.expected, self.found = str(path), dataset, expected, found
        self.remedy = remedy
        text = f"{path}: {dataset}: expected {expected}, found {found}"
        super().__init__(f"{text}; {remedy}" if remedy else text)
