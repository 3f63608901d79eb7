"""Reaching a Loihi 2: its host, on-chip models, and the network that runs there."""

from lava_procs import import_lava as import_lava
