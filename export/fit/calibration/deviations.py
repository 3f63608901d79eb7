"""The counts of :mod:`export.fit.words` and :mod:`export.fit.split` next to the compiler's.

Every column and the number of cores are ours: the layers of a network are cut by our rules, and
what a core holds and sends follows from that. Only weight bits, which no table prints, are taken
from most rows: those with which the row's own synapses come out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from export.fit.calibration.tables import COLUMNS, PUBLISHED, RULES, Entry, Published
from export.fit.split import split
from export.fit.words import LIMITS

TOLERANCE = 0.05
"""Most percentage points by which a Total may differ."""


@dataclass(frozen=True)
class TableComparison:
    """A row and what the rules give for it."""

    table: Published
    row: Entry
    counted: tuple[float, ...]
    cores: int

    @property
    def total(self) -> float:
        """Counted percent of the pool."""
        return 100 * sum(self.counted) / self.table.chip["pool_words"]

    @property
    def residual(self) -> float | None:
        """Counted less printed Total, in percentage points; None if no Total is printed."""
        return None if self.row.total is None else self.total - self.row.total

    @property
    def differing(self) -> tuple[str, ...]:
        """Columns whose counts are not those printed, to the digits printed."""
        found = []
        for name, counted, printed in zip(COLUMNS, self.counted, self.row.printed, strict=True):
            # Percentages have two digits; means over cores are cut to whole words.
            if self.row.total is None:
                same = int(counted) == printed
            else:
                same = abs(100 * counted / self.table.chip[LIMITS[name][0]] - printed) <= 0.0051
            if not same:
                found.append(name)
        return tuple(found)

    @property
    def agrees(self) -> bool:
        """Whether Total, or every column where none is printed, and cores are the compiler's."""
        total = not self.differing if self.residual is None else abs(self.residual) <= TOLERANCE
        return total and self.cores == self.row.cores

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        row = self.row
        return {
            "network": self.table.name,
            "source": self.table.source,
            "compiler": self.table.year,
            "layer": row.layer.name,
            "weight_bits": row.layer.weight_bits,
            "weight_bits_inferred": row.inferred,
            "fitted": [RULES[letter] for letter in row.fitted],
            "words": dict(zip(COLUMNS, self.counted, strict=True)),
            "printed": dict(zip(COLUMNS, row.printed, strict=True)),
            "unit": "words" if row.total is None else "percent",
            "total": self.total,
            "printed_total": row.total,
            "residual": self.residual,
            "cores": self.cores,
            "printed_cores": row.cores,
            "differing": list(self.differing),
            "agrees": self.agrees,
            "why": row.why,
        }


def compare(table: Published) -> list[TableComparison]:
    """Cut and count the layers of a table."""
    layers, chip = [row.layer for row in table.rows], table.chip
    found = []
    for row, parts in zip(table.rows, split(layers, chip), strict=True):
        held = [part.words(row.layer, chip) for part in parts]
        cores = sum(part.cores for part in parts)
        if row.total is not None:  # the first core
            counted = tuple(float(getattr(held[0], name)) for name in COLUMNS)
        else:
            counted = tuple(
                sum(p.cores * getattr(of, name) for p, of in zip(parts, held, strict=True)) / cores
                for name in COLUMNS
            )
        found.append(TableComparison(table, row, counted, cores))
    return found


def calibration() -> list[TableComparison]:
    """Every published row, counted."""
    return [one for table in PUBLISHED for one in compare(table)]
