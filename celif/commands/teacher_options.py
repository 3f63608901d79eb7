"""Options of a teacher, from which ``celif train`` distils."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_PANEL = "Recipe"
TeacherFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also learn the outputs of this checkpoint, or those in an .npy file.",
        rich_help_panel=_PANEL,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        help="Divides the teacher's outputs and the network's before the softmax; default 4.",
        rich_help_panel=_PANEL,
    ),
]
TeacherShare = Annotated[
    float | None,
    typer.Option(
        help="Part of the loss that is the teacher's; default 0.9.", rich_help_panel=_PANEL
    ),
]


def chosen(
    teacher: Path | None, resume: bool, temperature: float | None, share: float | None
) -> dict[str, float]:
    """Return the options of distillation that were given, once they are known to be sound."""
    from training.tasks import distillation
    from training.tasks.task import Teacher

    given = {"temperature": temperature, "share": share}
    options = {name: value for name, value in given.items() if value is not None}
    if options and teacher is None and not resume:
        raise ValueError("--temperature and --teacher-share: expected together with --teacher")
    usual = {"temperature": distillation.TEMPERATURE, "share": distillation.SHARE}
    Teacher("0" * 16, **{**usual, **options})  # refuses what is out of range before data is read
    return options
