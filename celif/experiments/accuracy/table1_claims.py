"""What ``table1`` claims and remarks about its rows."""

from __future__ import annotations

from collections.abc import Iterator

from celif.experiments.machinery.experiment import Claim, Row
from celif.experiments.machinery.results_summary import NEAR

LEARNT = 15.0
"""Percent of ten classes above which a model has learnt anything."""


def recurrent_and_feedforward(rows: list[Row], names: tuple[str, ...]) -> Iterator[str]:
    """Compare CE-LIF of the same widths, recurrent and feedforward, here and in the paper."""
    found = {row.what: row for row in rows}
    for task_name in names:
        pair = [
            found[f"CE-LIF {kind} [64, 152, 152], {task_name}"]
            for kind in ("recurrent", "feedforward")
        ]
        fed, plain = (row.ours for row in pair)
        theirs, theirs_plain = (row.paper for row in pair)
        if (
            fed is not None
            and plain is not None
            and theirs is not None
            and theirs_plain is not None
        ):
            yield (
                f"On {task_name} recurrent CE-LIF [64, 152, 152] differs by {fed - plain:+.2f} "
                "points from feedforward CE-LIF of the same widths, in the paper by "
                f"{theirs - theirs_plain:+.2f}; here rates, epochs, batches and inputs of the two "
                "differ as well."
            )


def claims(rows: list[Row], names: tuple[str, ...]) -> list[Claim]:
    """What can be said of the rows that were run."""
    scores = {row.what: row.ours for row in rows if row.ours is not None}
    found = []
    clean = "without shifted images, one of them with a teacher and adversarial inputs"
    for shifted, how in ((False, clean), (True, "with shifted images")):
        below = [
            row.paper - row.ours for row in rows
            if "models/" in row.what and row.ours is not None and row.paper is not None
            and ("shifted" in row.note) == shifted
        ]  # fmt: skip
        if below:
            text = (
                f"networks of models/ that were trained {how}: at most {NEAR} points below the "
                "paper's"
            )
            found.append(Claim(text, round(max(below), 2) <= NEAR))
    for task_name in names:
        celif = f"CE-LIF feedforward, {task_name}"
        rivals = {
            what.partition(",")[0]: score for what, score in scores.items()
            if what.endswith(task_name) and "CE-LIF" not in what
            and ("feedforward" in what or "recurrent" in what)  # the artificial ones are neither
        }  # fmt: skip
        others = [score for score in rivals.values() if score > LEARNT]
        if celif in scores and others:
            text = (
                f"{task_name}: after the same epochs CE-LIF feedforward is above all "
                f"{len(others)} other spiking models here that learnt anything"
            )
            silent = [name for name, score in rivals.items() if score <= LEARNT]
            text += f"; at chance: {', '.join(silent)}" if silent else ""
            found.append(Claim(text, scores[celif] > max(others)))
    return found
