"""The Lava world: CE-LIF Processes, a netx network that loads them, a runner that never hangs."""

import training as training  # first: it sets OpenMP's wait policy before torch loads
from lava_procs import import_lava as import_lava  # must run before anything else here imports Lava
from lava_procs.loihi.chip_models import register_chip_model, unregister_chip_model
from lava_procs.loihi.host import Loihi, LoihiMissingError
from lava_procs.one_process import LavaDeadlockError, LavaInlineError, inline
from lava_procs.processes.celif.process import CELIF
from lava_procs.processes.cuba.process import CUBA
from lava_procs.processes.network.process import Network
from lava_procs.processes.readout.process import Readout
from lava_procs.processes.recorder.process import Recorder
from lava_procs.processes.sigma_delta.process import SigmaDelta
from lava_procs.runner.run import run, run_stream
from lava_procs.runner.supervise import LavaRunError, LavaStalledError, LavaTimeoutError

__all__ = [
    "CELIF",
    "CUBA",
    "LavaDeadlockError",
    "LavaInlineError",
    "LavaRunError",
    "LavaStalledError",
    "LavaTimeoutError",
    "Loihi",
    "LoihiMissingError",
    "Network",
    "Readout",
    "Recorder",
    "SigmaDelta",
    "inline",
    "register_chip_model",
    "run",
    "run_stream",
    "unregister_chip_model",
]
