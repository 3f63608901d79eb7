"""The fidelity study as a page and a picture."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks import provenance
from benchmarks.studies import folds
from training.support.atomic import atomic_file

COLOURS = {8: "#1f6fb4", 6: "#4c8c6b", 5: "#c1762b", 4: "#d1495b"}
_CLAIMS = (
    ("8-bit weights and TE, no fine-tuning", "cells", "w8 te8 Fauto", 0.3),
    ("4-bit weights and TE, no fine-tuning", "cells", "w4 te4 Fauto", 1.0),
    ("4-bit weights and TE, fine-tuned", "tuned", "w4 te4 Fauto", 0.3),
)
"""What is promised: how many points below float at most."""


class Study:
    """Accuracies in percent over all folds, one for each repeat."""

    def __init__(self, content: dict[str, Any], repeats: int) -> None:
        self.content, self.repeats = content, repeats
        seeds = content["seeds"]
        self._rounds = [
            [seeds[str(r * folds.FOLDS + i)] for i in range(folds.FOLDS)] for r in range(repeats)
        ]
        self.images = sum(seed["samples"] for seed in self._rounds[0])

    def _percent(self, hits: Any) -> list[float]:
        return [100 * sum(map(hits, seeds)) / self.images for seeds in self._rounds]

    def floats(self, kind: str = "float") -> list[float]:
        """Scores of the float networks; ``float_tuned`` were trained further."""
        return self._percent(lambda seed: seed[kind])

    def fixed(self, kind: str, key: str) -> list[float]:
        """Scores of a combination of bits; ``kind`` is ``cells`` or, fine-tuned, ``tuned``."""
        return self._percent(lambda seed: seed[kind][key]["hits"])

    def mean(self, key: str) -> float:
        """Mean over the repeats, of a combination without fine-tuning."""
        return statistics.mean(self.fixed("cells", key))

    def saturations(self, key: str) -> int:
        """How often a register was full, over everything."""
        each = (sum(seed["cells"][key]["saturations"]) for seeds in self._rounds for seed in seeds)
        return sum(each)

    def losses(self) -> list[tuple[str, float, float]]:
        """Claim, points lost against float, points allowed."""
        base = statistics.mean(self.floats())
        return [
            (claim, base - statistics.mean(self.fixed(kind, key)), allowed)
            for claim, kind, key, allowed in _CLAIMS
        ]

    def verdicts(self) -> str:
        """A line for each claim."""
        return "\n".join(
            f"{claim}: {loss:+.2f} points lost, {allowed:g} allowed: "
            f"{'holds' if loss <= allowed else 'DOES NOT HOLD'}"
            for claim, loss, allowed in self.losses()
        )

    def axis(self, position: int) -> list[str]:
        """The values that weights (0), TE (1) or F (2) have in the keys, in their order."""
        keys = self._rounds[0][0]["cells"]
        return list(dict.fromkeys(key.split()[position] for key in keys))


def spread(values: list[float]) -> str:
    """Mean and, of several, standard deviation."""
    more = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{more}"


def _grid(study: Study, fraction: str) -> str:
    """Weights down, TE across, at one F."""
    tes = study.axis(1)
    lines = [
        "| weights \\ TE | " + " | ".join(f"{te[2:]} bits" for te in tes) + " |",
        "|---|" + "---|" * len(tes),
    ]
    for w in study.axis(0):
        cells = " | ".join(f"{study.mean(f'{w} {te} {fraction}'):.2f}" for te in tes)
        lines.append(f"| {w[1:]} bits | {cells} |")
    return "\n".join(lines)


def _cliff(study: Study) -> str:
    """F across, some combinations of bits down."""
    fractions = study.axis(2)
    names = ["chosen" if f == "Fauto" else f"F = {f[1:]}" for f in fractions]
    lines = ["| weights, TE | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for w, te in (("w8", "te8"), ("w8", "te4"), ("w4", "te8"), ("w4", "te4")):
        cells = []
        for f in fractions:
            full = study.saturations(f"{w} {te} {f}")
            cells.append(f"{study.mean(f'{w} {te} {f}'):.2f}{'*' if full else ''}")
        lines.append(f"| {w[1:]}, {te[2:]} bits | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(study: Study) -> Figure:
    """Accuracy by F, and by bits of TE."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    base = statistics.mean(study.floats())
    fractions, tes = study.axis(2), study.axis(1)[::-1]
    for w in study.axis(0):
        bits = int(w[1:])
        style = {"color": COLOURS[bits], "marker": "o", "ms": 4, "lw": 1.5}
        label = f"{bits}-bit weights"
        left.plot([study.mean(f"{w} te8 {f}") for f in fractions], label=label, **style)
        right.plot([study.mean(f"{w} {te} Fauto") for te in tes], label=label, **style)
    for ax in (left, right):
        ax.axhline(base, color="#8a8f98", lw=1, ls="--", zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
    left.annotate("float", (0, base), (0, 4), textcoords="offset points", color="#5c636e",
                  ha="center", fontsize=9)  # fmt: skip
    tuned = statistics.mean(study.fixed("tuned", "w4 te4 Fauto"))
    right.plot(tes.index("te4"), tuned, marker="*", ms=11, color=COLOURS[4], ls="none",
               label="4-bit, fine-tuned")  # fmt: skip
    left.set(xlabel="fractional bits F of V and Θ, 8-bit TE", ylabel="accuracy, %")
    left.set_xticks(range(len(fractions)), ["chosen" if f == "Fauto" else f[1:] for f in fractions])
    right.set(xlabel="bits of TE, F as chosen")
    right.set_xticks(range(len(tes)), [te[2:] for te in tes])
    right.legend(frameon=False, loc="lower right", fontsize=9)
    return figure


def page(study: Study) -> str:
    """The study in Markdown."""
    claims = "\n".join(
        f"| {claim} | {loss:+.2f} | {allowed:g} | {'yes' if loss <= allowed else '**no**'} |"
        for claim, loss, allowed in study.losses()
    )
    tuning, about = study.content["tuning"], study.content["machine"]
    words = provenance.in_words(about).replace("\n", "\n    ")
    return f"""# Fidelity: what the integers cost

Sequential 8×8 digits, one pixel a step (T = 64), the demo's network and recipe. Five folds: each of
the {study.images:,} images is tested once, by a network that never saw it, and all of that
{study.repeats} times, from other seeds. Accuracies are in percent of all images, ± the standard
deviation over the repeats; one image is {100 / study.images:.3f} points. Nothing was
chosen by looking at test images: networks are those of the last epoch, formats come from the
training images.

Float: **{spread(study.floats())}**. In integers, with the formats that `to_netx` chooses by itself:

| | accuracy |
|---|---|
| 8-bit weights and TE | {spread(study.fixed("cells", "w8 te8 Fauto"))} |
| 4-bit weights and TE | {spread(study.fixed("cells", "w4 te4 Fauto"))} |
| 4-bit weights and TE, fine-tuned | {spread(study.fixed("tuned", "w4 te4 Fauto"))} |
| float, fine-tuned in the same way | {spread(study.floats("float_tuned"))} |

Fine-tuned means {tuning["epochs"]} epochs of quantisation-aware training (`export.quantize`) from
the float network, AdamW, learning rate {tuning["lr"]:g} falling to 0, without dropout. Such epochs
are good for the float network, too; the last line has them without any bits. Against what is
promised, in points lost against the float networks that the exports came from:

| | lost | allowed | holds |
|---|---|---|---|
{claims}

![Accuracy by fractional bits and by bits of TE](fidelity.svg)

## The cliff at few fractional bits

F is the number of fractional bits of V and Θ, forced to the same value in every layer. F = 6 is the
scale at which SLAYER's ALIF keeps its threshold. A star marks where a register was full.

{_cliff(study)}

## Weights by TE

F as chosen:

{_grid(study, "Fauto")}

F = 6:

{_grid(study, "F6")}

Every combination, with saturations, is in `runs/fidelity/results.json` after a run.

Made by `{study.content["command"]}` (`make fidelity`), {about["date"][:10]}, on:

    {words}
"""


def write(study: Study, docs: Path) -> None:
    """``fidelity.md``, ``fidelity.svg`` and ``fidelity.png`` into ``docs``."""
    docs.mkdir(parents=True, exist_ok=True)
    figure = picture(study)
    for kind in ("svg", "png"):
        with atomic_file(docs / f"fidelity.{kind}") as draft:
            options = {"metadata": {"Date": None}} if kind == "svg" else {"dpi": 130}
            with matplotlib.rc_context({"svg.hashsalt": "celif"}):
                figure.savefig(draft, format=kind, **options)
    plt.close(figure)
    with atomic_file(docs / "fidelity.md") as draft:
        draft.write_text(page(study), encoding="utf-8")
