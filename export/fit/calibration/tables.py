"""Per-core tables that Intel's compiler printed, row by row, as numbers.

They are in the outputs of notebooks of lava-dl (netx) and lava-dnf, which also print or state the
shapes of the layers. The columns are input axons, neuron groups, neurons, synapses, axon maps and
axon memory. Tables of 2024 give percentages of the limits, on the first core of a layer, and a
Total; those of 2022 give words, as means over a layer's cores that are cut to whole numbers. The
years are those of the runs, from the time-stamps in the names of their folders (MNIST's from the
page that it belongs to, lava-dnf's from its copyright).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from export.fit.chip import Chip
from export.fit.demand import Demand
from export.fit.figures import CHIP
from export.fit.words import Window

COLUMNS = ("axon_in", "neuron_groups", "neurons", "synapses", "axon_map", "axon_mem")
RULES = {
    "p": "the pool and its limits",
    "d": "the lists of dense synapses",
    "k": "the lists of kernels",
    "s": "how the layer is cut",
    "a": "how many axons a pixel takes",
    "m": "axon memory",
}
"""What was found on a row, by the letters of :attr:`Entry.fitted`."""


@dataclass(frozen=True)
class Entry:
    """A row of a table: the layer, what a core holds of it as printed, and how many cores."""

    layer: Demand
    printed: tuple[float, ...]
    """The columns of :data:`COLUMNS`: percent if ``total`` is printed, else words."""
    cores: int
    total: float | None = None
    """Percent of the pool, in tables that print percentages."""
    fitted: str = ""
    """The rules of :data:`RULES` that the row served to find; all else of it is predicted."""
    inferred: bool = True
    """Whether the weight bits were chosen so that the row's own synapses come out."""
    why: str = ""
    """Why a column or the number of cores is not what is printed."""


@dataclass(frozen=True)
class Published:
    """The table of a network, its layers in the order in which spikes pass them."""

    name: str
    source: str
    year: int
    """Year of the compiler that printed it."""
    rows: tuple[Entry, ...]

    @property
    def chip(self) -> Chip:
        """The limits of that compiler; in 2022 it named 12,000 words of synapses in its log."""
        if self.year >= CHIP["compiler"]:
            return CHIP
        return CHIP.with_figures(compiler=self.year, synapse_words=12_000)


def _dense(inputs: int, neurons: int, bits: int) -> Demand:
    """A dense layer of stock neurons, which take a word each."""
    name = f"dense {inputs}-{neurons}"
    return Demand(name, "LIF", neurons, inputs, inputs, 0, weight_bits=bits, state_bits=64)


def _conv(
    shape: tuple[int, int, int],
    inputs: int,
    bits: int,
    kernel: int = 3,
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    to_kernels: bool = True,
) -> Demand:
    """A convolution by its output (width, height, channels) and its input's channels."""
    width, height, channels = shape
    return replace(
        _dense(1, channels, bits),
        name=f"conv {width}×{height}×{channels}",
        weights=inputs * kernel**2,
        width=width,
        height=height,
        window=Window((kernel, kernel), stride, padding),
        to_kernels=to_kernels,
    )


_TWO, _ONE = (2, 2), (1, 1)
_NETX = "lava-dl, tutorials/lava/lib/dl/netx"
_DNF = "lava-dnf, tutorials/lava/lib/dnf/relational_networks/tutorial_relational_networks.ipynb"

_PILOTNET = (
    Entry(_conv((99, 32, 24), 3, 7, stride=_TWO), (2, 1, 3072, 81, 253, 93), 25, fitted="ksa"),
    Entry(_conv((49, 15, 36), 24, 6, stride=_TWO), (2, 1, 2160, 864, 113, 32), 13, fitted="ksa"),
    Entry(_conv((24, 7, 48), 36, 6, stride=_TWO), (2, 1, 2688, 1620, 112, 46), 3, fitted="ksa"),
    Entry(_conv((22, 4, 64), 48, 5, stride=(2, 1), padding=(1, 0)), (1, 1, 2048, 2592, 29, 9), 3,
        fitted="ks"),
    Entry(_conv((20, 2, 64), 64, 4, to_kernels=False), (1, 1, 2048, 2880, 1280, 0), 2, fitted="ks"),
    Entry(_dense(2560, 100, 4), (2560, 1, 8, 7253, 8, 0), 12, fitted="s"),
    Entry(_dense(100, 50, 6), (100, 1, 50, 1500, 50, 0), 1),
    Entry(_dense(50, 10, 4), (50, 1, 10, 150, 10, 0), 1),
    Entry(_dense(10, 1, 4), (10, 1, 1, 10, 1, 0), 1),
)  # fmt: skip


def _other(i: int, bits: int, synapses: int, fitted: str = "") -> Entry:
    """A row of PilotNet whose weights have other bits; all else of it is printed again."""
    row = _PILOTNET[i]
    printed = (*row.printed[:3], synapses, *row.printed[4:])
    layer = replace(row.layer, weight_bits=bits)
    return replace(row, layer=layer, printed=printed, fitted=row.fitted + fitted)


PUBLISHED = (
    Published("mnist", f"{_NETX}/mnist/run.ipynb", 2024, (
        Entry(_dense(784, 128, 8), (4.90, 12.50, 1.22, 78.40, 0.31, 0.00), 3, 67.14, "pds", False),
        Entry(_dense(128, 64, 8), (0.80, 12.50, 1.56, 16.80, 0.40, 0.00), 1, 14.72, "pd", False),
        Entry(_dense(64, 10, 8), (0.40, 12.50, 0.24, 1.60, 0.06, 0.00), 1, 1.71, "pd", False),
    )),
    Published("yolo_kp", f"{_NETX}/yolo_kp/run.ipynb", 2024, (
        Entry(_conv((224, 224, 16), 3, 6, 3, _TWO, _ONE),
            (0.01, 12.50, 87.52, 0.34, 1.40, 0.70), 224, 19.88, "psm"),
        Entry(_conv((112, 112, 32), 16, 7, 3, _TWO, _ONE),
            (0.01, 12.50, 87.52, 3.60, 0.70, 0.35), 112, 21.65, "psm"),
        Entry(_conv((56, 56, 64), 32, 5, 3, _TWO, _ONE),
            (0.01, 12.50, 87.52, 10.80, 0.35, 0.17), 56, 26.99, "psm"),
        Entry(_conv((28, 28, 128), 64, 5, 3, _TWO, _ONE),
            (0.01, 12.50, 87.52, 39.60, 0.17, 0.35), 28, 50.03, "pksm"),
        Entry(_conv((28, 28, 256), 128, 5, 3, _ONE, _ONE),
            (0.01, 12.50, 87.52, 79.20, 0.17, 0.17), 56, 81.57, "psm"),
        Entry(_conv((14, 14, 256), 256, 4, 3, _TWO, _ONE),
            (0.01, 12.50, 87.52, 72.00, 0.35, 2.80), 16, 78.05, "psm"),
        Entry(_conv((14, 14, 512), 256, 5, 3, _ONE, _ONE),
            (0.01, 12.50, 87.52, 86.40, 0.35, 0.35), 32, 87.61, "psm"),
        Entry(_conv((14, 14, 256), 512, 5, 1),
            (0.01, 12.50, 87.52, 67.20, 0.09, 0.35), 14, 72.04, "psm"),
        Entry(_conv((14, 14, 512), 256, 5, 3, _ONE, _ONE),
            (0.01, 12.50, 87.52, 86.40, 0.35, 0.17), 32, 87.47, "pksm"),
        Entry(_conv((14, 14, 48), 512, 7, 1, to_kernels=False),
            (0.01, 25.00, 65.64, 19.20, 16.80, 0.00), 4, 42.26, "ps"),
    )),
    Published("oxford", f"{_NETX}/oxford/run.ipynb", 2022, (
        Entry(_dense(200, 256, 8), (200, 1, 85, 5400, 85, 0), 3, None, "d", False,
            why="the compiler's log goes through 16,000 words, those of 253 to 255 neurons: up to "
            "three were cut off before the rest was halved; our rule halves at once"),
        Entry(_dense(256, 200, 8), (256, 1, 100, 8064, 100, 0), 2, None, "d", False,
            why="8,064 words are half of the undivided layer's 16,128, or an uneven cut's; our "
            "halves have 8,192 each"),
    )),
    Published("dnf", _DNF, 2022, (
        # Two fields of 15, one of 15 × 15 that receives both and the fourth, and that of 29.
        Entry(_dense(15, 15, 6), (15, 1, 15, 75, 15, 0), 1),
        Entry(_dense(15, 15, 6), (15, 1, 15, 75, 15, 0), 1),
        Entry(_dense(59, 225, 3), (59, 1, 225, 3127, 225, 0), 1, fitted="d"),
        Entry(_dense(225, 29, 6), (225, 1, 29, 2025, 29, 0), 1),
    )),
    Published("pilotnet_sdnn", f"{_NETX}/pilotnet_sdnn/benchmark.ipynb", 2022, _PILOTNET),
    Published("pilotnet_snn", f"{_NETX}/pilotnet_snn/benchmark.ipynb", 2022, (
        Entry(_conv((200, 66, 3), 0, 8, 1), (1, 1, 3168, 0, 1015, 731), 13, fitted="a",
            inferred=False),
        *_PILOTNET[:3],
        _other(3, 4, 2160),
        _PILOTNET[4],
        _other(5, 3, 7253, "d"),
        _other(6, 4, 1300),
        *_PILOTNET[7:],
    )),
)  # fmt: skip
