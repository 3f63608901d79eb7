"""The task whose samples a network takes, as a file names it."""

from __future__ import annotations

from dataclasses import dataclass

from export.checks import ModelError

TEXT_MAX = 200
"""Characters that a text in a file may have."""


@dataclass(frozen=True)
class TaskLabel:
    """The task whose samples a network takes: its name, and how they were made, in words."""

    name: str
    encoding: str = ""

    def __post_init__(self) -> None:
        for field, text, least in (("name", self.name, 1), ("encoding", self.encoding, 0)):
            if not (least <= len(text) <= TEXT_MAX and text.isprintable()):
                expected = f"{least}..{TEXT_MAX} printable characters"
                raise ModelError.about("task", field, expected, repr(text[:TEXT_MAX]))

    def __str__(self) -> str:
        return f"{self.name} ({self.encoding})" if self.encoding else self.name
