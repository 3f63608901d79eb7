"""The Lava world: CE-LIF Processes, a netx network that loads them, a runner that never hangs."""

from lava_procs import first as first  # must run before anything else here imports Lava
from lava_procs.celif.process import CELIF
from lava_procs.chip_models import register_chip_model, unregister_chip_model
from lava_procs.cuba.process import CUBA
from lava_procs.loihi import Loihi, LoihiMissingError
from lava_procs.netx.process import Network
from lava_procs.readout.process import Readout
from lava_procs.recorder.process import Recorder
from lava_procs.runner import run, run_stream
from lava_procs.sigma_delta.process import SigmaDelta
from lava_procs.supervise import LavaRunError, LavaStalledError, LavaTimeoutError

__all__ = [
    "CELIF",
    "CUBA",
    "LavaRunError",
    "LavaStalledError",
    "LavaTimeoutError",
    "Loihi",
    "LoihiMissingError",
    "Network",
    "Readout",
    "Recorder",
    "SigmaDelta",
    "register_chip_model",
    "run",
    "run_stream",
    "unregister_chip_model",
]
