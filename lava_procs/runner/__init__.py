"""Running a netx file in Lava: sessions, workers, timeouts, and finding out why a run hangs."""

from lava_procs import import_lava as import_lava
