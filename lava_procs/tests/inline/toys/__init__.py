"""Small Processes for tests; alone here, because Lava executes all files of a Process's folder."""
