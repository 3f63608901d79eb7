"""What a step in Lava costs: in one process, in Lava's own runtime, with probes."""
