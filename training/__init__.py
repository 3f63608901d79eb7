"""The float world: the CE-LIF recurrence, its kernels, networks, tasks and trainer."""

from training import functional
from training.network.network import Network

__all__ = ["Network", "functional"]
