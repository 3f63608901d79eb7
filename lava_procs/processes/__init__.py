"""Lava Processes, each alone in its folder: Lava executes every file in and below that folder."""

from lava_procs import import_lava as import_lava
