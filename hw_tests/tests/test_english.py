"""Plain English: patterns that a reader stumbles on stay out of docstrings, texts and pages.

A file that still holds some is listed in ``unread.txt``.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("training", "export", "lava_procs", "hw_tests", "celif", "benchmarks")

PATTERNS = {
    "say 'for whoever' or 'for users who'": (
        r"\bfor who\b|\bonly who\b|\bWho (?:calls|called|names|uses|wants)\b"
    ),
    "say how many": r"\bso (?:many|long) (?!as\b)",
    "say 'again'": r"\banew\b|\bafresh\b",
    "say 'training run'": (
        r"\btrainings\b|\ba training's\b"
        r"|\ba training(?=[,;:]|\.(?:\s|$)| (?:that|as|of|with|is|in)\b)"
    ),
    "say 'differently from'": r"\botherwise than\b",
    "say 'is ignored' or 'affects'": r"\bha(?:s|ve) (?:a|no) say\b",
    "say 'compared with', 'besides' or 'next to'": (
        r"\bbeside\b(?! (?:it|them|the file|the files)\b)"
    ),
    "say 'our' or name it": r"\bof ours\b",
    "say 'a SLAYER block'": (
        r"\b(?:a|an|or|and) [A-Za-z-]+ of SLAYER's\b|\bof SLAYER's(?=[,.;)]|$)|\bone of SLAYER's\b"
    ),
    "say 'is not part of' or 'does not count'": r"\bno part of\b",
    "say 'receives'": r"\bhears\b",
    "never claim what no chip has shown": (
        r"exactly as Loihi|(?<!is not )(?<!is not just )as Loihi computes"
    ),
}
UNREAD = frozenset((Path(__file__).parent / "unread.txt").read_text().split())
"""Files that have not been rewritten yet; the list shrinks, and nothing is added to it."""


def _texts(path: Path) -> list[tuple[int, str]]:
    """The prose of a file with its lines: comments, strings, or everything of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        prose = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        return list(enumerate(prose.splitlines(), 1))
    found = [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING)
    ]
    return found


def complaints(path: Path) -> list[str]:
    """Every pattern that a file holds, by line."""
    found = []
    for line, text in _texts(path):
        flat = " ".join(text.split())
        for remedy, pattern in PATTERNS.items():
            found += [f"{line}: {hit[0]!r}: {remedy}" for hit in re.finditer(pattern, flat)]
    if path.suffix == ".py":
        found += _fragments(path)
    return found


def _fragments(path: Path) -> list[str]:
    """Attribute docstrings and docstrings that begin with "Of"."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str) and text.startswith("Of "):
                found.append(f"{node.lineno}: {text.splitlines()[0]!r}: write a sentence or a noun")
    return found


def files() -> list[str]:
    """Every file that people read."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "models").glob("*.md")]
    for room in ROOMS:
        pages += [*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.md")]
    names = (path.relative_to(ROOT).as_posix() for path in pages)
    return sorted(name for name in names if not name.endswith("test_english.py"))


@pytest.mark.parametrize("room", [*ROOMS, ""], ids=[*ROOMS, "pages"])
def test_texts_are_plain(room: str) -> None:
    top = {name: name.partition("/")[0] for name in files()}
    mine = [name for name, first in top.items() if (first if first in ROOMS else "") == room]
    assert mine
    wrong = [
        f"{name}:{each}" for name in mine if name not in UNREAD for each in complaints(ROOT / name)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "for who waits",
        "made anew",
        "a training that",
        "classified otherwise than in float",
        "of ours",
        "a block of SLAYER's",
        "no part of the difference",
        "a layer that hears spikes",
    ],
)
def test_patterns_are_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"It is {text}.\n")
    assert complaints(tmp_path / "page.md")
