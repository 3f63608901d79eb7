"""Lava Processes, each alone in its folder: Lava executes every file beside and below one."""

from lava_procs import import_lava as import_lava
