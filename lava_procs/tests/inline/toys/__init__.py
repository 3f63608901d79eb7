"""Small Processes for tests; alone here, because Lava executes every file beside a Process."""
