"""Lava Processes, each alone in its folder: Lava executes every file beside and below one."""
