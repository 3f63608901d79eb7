"""How the ``celif`` command ends.

====  ============================================================================================
code  meaning
====  ============================================================================================
0     all is well
1     a comparison found a difference, an attack made a register overflow, the demo missed a
      promise, or a network does not fit
2     bad input or setup: an option, a file, something not installed; one line says what
3     the run failed: an error or a timeout in Lava, a training run that diverged
4     incomplete: no difference was found, but something that applies was not compared, or it is
      not proven that no register overflows
130   interrupted by Ctrl-C
====  ============================================================================================
"""

from __future__ import annotations

import sys
import traceback

from celif import console

DIFFERENCE, BAD_INPUT, FAILED_RUN, INCOMPLETE = 1, 2, 3, 4

EPILOG = (
    "Exit codes: 0 all is well; 1 a comparison found a difference, an attack made a register "
    "overflow, the demo missed a promise, or a network does not fit; 2 bad input or setup; 3 the "
    "run failed; 4 incomplete: no difference was found, but something that applies was not "
    "compared, or it is not proven that no register overflows."
)


def explain(error: Exception) -> int:
    """Print why a command failed, with a traceback only for a defect; return the exit code."""
    # Importing it would import Lava; if it is not loaded, no error of Lava was raised.
    lava = sys.modules.get("lava_procs.errors")
    failures = (FloatingPointError, MemoryError, *([lava.LavaRunError] if lava else []))
    if isinstance(error, failures):
        console.fail(f"the run failed: {error}")
        return FAILED_RUN
    if isinstance(error, (ValueError, OSError, ImportError)):
        text = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is None:
            text = error.strerror  # our own sentence, which needs no number of the system
        console.fail(" ".join(text.splitlines()) or type(error).__name__)
        return BAD_INPUT
    traceback.print_exception(error)
    console.fail("the run failed because of a defect in celif; please report the lines above")
    return FAILED_RUN
