"""The counts of :mod:`export.fit.words` compared with tables that Intel's compiler printed.

The tables are in the outputs of lava-dl's netx notebooks, which also print the shapes of the
layers. A table gives, for each layer, what one core holds (words, or percent of a limit) and the
number of cores. Weight bits are not printed: those of the rows marked so are the ones with which
the row's own synapses come out. Axon memory follows from the placement of the next layer, for
which no rule was found, so it is taken from the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from export.fit.calibration.tables import COLUMNS, ROWS, SOURCES, Row
from export.fit.split import split
from export.fit.words import LIMITS, Words

TOLERANCE = 0.05
"""Most percentage points by which a Total may differ."""


@dataclass(frozen=True)
class Comparison:
    """A row and what the rules give for it."""

    row: Row
    counted: tuple[float, ...]
    cores: int

    @property
    def total(self) -> float:
        """Counted percent of the pool."""
        return 100 * sum(self.counted) / self.row.chip["pool_words"]

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
                same = abs(100 * counted / self.row.chip[LIMITS[name][0]] - printed) <= 0.0051
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
            "network": row.network,
            "source": SOURCES[row.network],
            "layer": row.layer.name,
            "weight_bits": row.layer.weight_bits,
            "fitted": row.fitted,
            "weight_bits_inferred": row.bits_inferred,
            "words": dict(zip(COLUMNS, self.counted, strict=True)),
            "printed": dict(zip(COLUMNS, row.printed, strict=True)),
            "unit": "words" if row.total is None else "percent",
            "total": self.total,
            "printed_total": row.total,
            "residual": self.residual,
            "cores": self.cores,
            "printed_cores": row.cores,
            "agrees": self.agrees,
            "note": row.note,
        }


def compare(row: Row) -> Comparison:
    """Count a row."""
    layer, chip = row.layer, row.chip
    given = row.printed[COLUMNS.index("axon_mem")]
    memory = given if row.total is None else round(given * chip["axon_mem_words"] / 100)

    def columns(held: Words) -> list[float]:
        return [*(getattr(held, name) for name in COLUMNS[:-1]), memory]

    parts = split(layer, chip)
    cores = sum(part.cores for part in parts)
    if row.block != (0, 0):
        counted = columns(layer.words(*row.block, chip))
        if row.total is None:  # such tables print axon maps as means over the cores
            whole = layer.words(layer.channels, layer.positions, chip)
            counted[COLUMNS.index("axon_map")] = whole.axon_map / cores
    else:
        held = [columns(layer.words(p.channels, p.positions, chip)) for p in parts]
        counted = [
            sum(p.cores * of[i] for p, of in zip(parts, held, strict=True)) / cores
            for i in range(len(COLUMNS))
        ]
    return Comparison(row, tuple(counted), cores)


def calibration() -> list[Comparison]:
    """Every published row, counted."""
    return [compare(row) for row in ROWS]
