"""Names and numbers of the netx file, and the error about a file that is not what it should be."""

from __future__ import annotations

import os

VERSION = 3
"""The newest version of the file that this package writes and reads."""

AGAIN = "export the network again with to_netx"
"""The remedy for most damaged files."""

SIGNED = 3
"""The version since which files have a checksum."""

DENSE, DENSE_REC, CONV, INPUT, FLATTEN = "dense", "dense_rec", "conv", "input", "flatten"
TYPES = (DENSE, DENSE_REC, CONV, INPUT)
"""Types of layers that have neurons; ``flatten`` has none."""
PAIRS = ("stride", "padding", "dilation")
"""Datasets of a convolution that hold a row's and a column's value."""


def printable(text: str) -> str:
    """Return a text with control characters as escapes, so that none reaches a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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
        texts = map(printable, (str(path), dataset, expected, found))
        self.path, self.dataset, self.expected, self.found = texts
        self.remedy = remedy
        text = f"{self.path}: {self.dataset}: expected {self.expected}, found {self.found}"
        super().__init__(f"{text}; {remedy}" if remedy else text)
