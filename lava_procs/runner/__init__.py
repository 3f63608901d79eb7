"""Running a netx file in Lava: sessions, workers, timeouts, and finding out why a run hangs."""
