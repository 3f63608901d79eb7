"""Per-core tables that Intel's compiler printed, row by row, as numbers.

They are in the outputs of lava-dl's netx notebooks, which also print the shapes of the layers. The
columns are input axons, neuron groups, neurons, synapses, axon maps and axon memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from export.fit.chip import Chip
from export.fit.demand import Demand
from export.fit.figures import CHIP

COLUMNS = ("axon_in", "neuron_groups", "neurons", "synapses", "axon_map", "axon_mem")
_NOTEBOOKS = "lava-dl, tutorials/lava/lib/dl/netx"
SOURCES = {
    "mnist": f"{_NOTEBOOKS}/mnist/run.ipynb",
    "oxford": f"{_NOTEBOOKS}/oxford/run.ipynb",
    "pilotnet_sdnn": f"{_NOTEBOOKS}/pilotnet_sdnn/benchmark.ipynb",
    "pilotnet_snn": f"{_NOTEBOOKS}/pilotnet_snn/benchmark.ipynb",
    "yolo_kp": f"{_NOTEBOOKS}/yolo_kp/run.ipynb",
}
_SYNAPSE_WORDS_2022 = 12_000
"""Limit that the compilers of 2022 print where a layer passes it."""


@dataclass(frozen=True)
class Row:
    """A row of a table: the layer, what a core holds of it as printed, and how many cores."""

    network: str
    layer: Demand
    block: tuple[int, int]
    """Channels and positions on the core that is printed; (0, 0) for means over all cores."""
    printed: tuple[float, ...]
    """The columns of :data:`COLUMNS`: percent if ``total`` is printed, else words."""
    cores: int
    total: float | None = None
    """Percent of the pool, in tables that print percentages."""
    fitted: bool = False
    """Whether the row served to find the rules; the others are predicted."""
    bits_inferred: bool = False
    """Whether the weight bits were chosen so that the row's own synapses come out."""
    note: str = ""
    """Why a column or the number of cores is not what is printed."""

    @property
    def chip(self) -> Chip:
        """The limits of the compiler that printed the table."""
        if self.total is not None:
            return CHIP
        return CHIP.with_figures(synapse_words=_SYNAPSE_WORDS_2022)


def dense(inputs: int, neurons: int, bits: int) -> Demand:
    """A dense layer of stock neurons, which take a word each."""
    name = f"dense {inputs}-{neurons}"
    return Demand(name, "LIF", neurons, inputs, inputs, 0, weight_bits=bits, state_bits=64)


def conv(shape: tuple[int, int, int], weights: int, bits: int, to_kernels: bool = True) -> Demand:
    """A convolution by its output (width, height, channels) and the weights of a channel."""
    width, height, channels = shape
    layer = dense(1, channels, bits)
    name = f"conv {width}×{height}×{channels}"
    return replace(
        layer, name=name, weights=weights, width=width, height=height, kernels=True,
        to_kernels=to_kernels,
    )  # fmt: skip


_MEANS = (0, 0)
_AXONS = "the table has two axons for each pixel here; the rule, one"

ROWS = (
    # Percentages, with a Total: the compiler that counts 16,000 words of synapses.
    Row("mnist", dense(64, 10, 8), (10, 1), (0.40, 12.50, 0.24, 1.60, 0.06, 0.00), 1, 1.71,
        fitted=True),
    Row("mnist", dense(128, 64, 8), (64, 1), (0.80, 12.50, 1.56, 16.80, 0.40, 0.00), 1, 14.72,
        fitted=True),
    Row("mnist", dense(784, 128, 8), (50, 1), (4.90, 12.50, 1.22, 78.40, 0.31, 0.00), 3, 67.14,
        fitted=True,
        note="the compiler puts 50 neurons on a core, the rule 43; both need 3 cores. The Total is "
        "that of the compiler's 50; a core of the rule would show 59.23"),
    Row("yolo_kp", conv((14, 14, 48), 512, 7, False), (48, 56),
        (0.01, 25.00, 65.64, 19.20, 16.80, 0.00), 4, 42.26, bits_inferred=True,
        note="the compiler makes two neuron groups of the last layer, the rule one"),
    Row("yolo_kp", conv((14, 14, 512), 9 * 256, 5), (64, 56),
        (0.01, 12.50, 87.52, 86.40, 0.35, 0.17), 32, 87.47, fitted=True, bits_inferred=True),
    Row("yolo_kp", conv((14, 14, 256), 512, 5), (256, 14),
        (0.01, 12.50, 87.52, 67.20, 0.09, 0.35), 14, 72.04, bits_inferred=True),
    Row("yolo_kp", conv((14, 14, 512), 9 * 256, 5), (64, 56),
        (0.01, 12.50, 87.52, 86.40, 0.35, 0.35), 32, 87.61, bits_inferred=True),
    Row("yolo_kp", conv((14, 14, 256), 9 * 256, 4), (64, 56),
        (0.01, 12.50, 87.52, 72.00, 0.35, 2.80), 16, 78.05, bits_inferred=True),
    Row("yolo_kp", conv((28, 28, 256), 9 * 128, 5), (128, 28),
        (0.01, 12.50, 87.52, 79.20, 0.17, 0.17), 56, 81.57, bits_inferred=True),
    Row("yolo_kp", conv((28, 28, 128), 9 * 64, 5), (128, 28),
        (0.01, 12.50, 87.52, 39.60, 0.17, 0.35), 28, 50.03, fitted=True,
        bits_inferred=True),
    Row("yolo_kp", conv((56, 56, 64), 9 * 32, 5), (64, 56),
        (0.01, 12.50, 87.52, 10.80, 0.35, 0.17), 56, 26.99, bits_inferred=True),
    Row("yolo_kp", conv((112, 112, 32), 9 * 16, 7), (32, 112),
        (0.01, 12.50, 87.52, 3.60, 0.70, 0.35), 112, 21.65, bits_inferred=True),
    Row("yolo_kp", conv((224, 224, 16), 9 * 3, 7), (16, 224),
        (0.01, 12.50, 87.52, 0.34, 1.40, 0.70), 224, 19.88, bits_inferred=True),
    # Words, without a Total: compilers of 2022, which counted 12,000 words of synapses.
    Row("oxford", dense(256, 200, 8), _MEANS, (256, 1, 100, 8064, 100, 0), 2,
        note="the compiler cuts it unevenly, into 63 words an input; halves take 64"),
    Row("oxford", dense(200, 256, 8), _MEANS, (200, 1, 85, 5400, 85, 0), 3,
        note="the compiler's log passes through 16,000 words before it ends with 3 cores; by the "
        "rule 2 would do"),
    Row("pilotnet_sdnn", dense(10, 1, 4), (1, 1), (10, 1, 1, 10, 1, 0), 1, bits_inferred=True),
    Row("pilotnet_sdnn", dense(50, 10, 4), (10, 1), (50, 1, 10, 150, 10, 0), 1,
        bits_inferred=True),
    Row("pilotnet_sdnn", dense(100, 50, 6), (50, 1), (100, 1, 50, 1500, 50, 0), 1,
        bits_inferred=True),
    Row("pilotnet_sdnn", dense(2560, 100, 4), _MEANS, (2560, 1, 8, 7253, 8, 0), 12, fitted=True,
        bits_inferred=True),
    Row("pilotnet_sdnn", conv((20, 2, 64), 9 * 64, 4, False), (64, 32),
        (1, 1, 2048, 2880, 1280, 0), 2, fitted=True, bits_inferred=True),
    Row("pilotnet_sdnn", conv((22, 4, 64), 9 * 48, 5), (64, 32), (1, 1, 2048, 2592, 29, 9), 3,
        fitted=True, bits_inferred=True),
    Row("pilotnet_sdnn", conv((24, 7, 48), 9 * 36, 6), (48, 56), (2, 1, 2688, 1620, 112, 46), 3,
        fitted=True, bits_inferred=True, note=_AXONS),
    Row("pilotnet_sdnn", conv((49, 15, 36), 9 * 24, 6), (36, 60), (2, 1, 2160, 864, 113, 32), 13,
        fitted=True, bits_inferred=True, note=_AXONS),
    Row("pilotnet_sdnn", conv((99, 32, 24), 9 * 3, 7), (24, 128), (2, 1, 3072, 81, 253, 93), 25,
        fitted=True, bits_inferred=True, note=_AXONS),
    Row("pilotnet_snn", dense(100, 50, 4), (50, 1), (100, 1, 50, 1300, 50, 0), 1,
        bits_inferred=True),
    Row("pilotnet_snn", conv((22, 4, 64), 9 * 48, 4), (64, 32), (1, 1, 2048, 2160, 29, 9), 3,
        bits_inferred=True),
    Row("pilotnet_snn", conv((200, 66, 3), 0, 8), (3, 1056), (1, 1, 3168, 0, 1015, 731), 13,),
)  # fmt: skip
