"""Objects that show themselves as a short table, in a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import NamedTuple


class Summary(NamedTuple):
    """A title, a table and a last line; columns of numbers are set flush right."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    footer: str = ""

    def text(self) -> str:
        """Lines for a terminal."""
        lines = [self.title]
        if self.rows:
            table = [self.columns, *self.rows]
            widths = [max(len(row[i]) for row in table) for i in range(len(self.columns))]
            for row in table:
                first, *rest = (
                    cell.ljust(width) if i == 0 else cell.rjust(width)
                    for i, (cell, width) in enumerate(zip(row, widths, strict=True))
                )
                lines.append("  ".join(["", first, *rest]).rstrip())
        return "\n".join([*lines, *([self.footer] if self.footer else [])])

    def html(self) -> str:
        """A table for a notebook."""
        parts = [f"<p><b>{html.escape(self.title)}</b></p>"]
        if self.rows:
            head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                for row in self.rows
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if self.footer:
            parts.append(f"<p>{html.escape(self.footer)}</p>")
        return "".join(parts)


class Summarised:
    """A base of classes with a ``summary``: what ``print`` and a notebook show."""

    __slots__ = ()

    def summary(self) -> Summary:
        """Return what the object shows of itself."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.summary().text()

    def _repr_html_(self) -> str:
        return self.summary().html()
