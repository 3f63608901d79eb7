"""Messages between models in one process: channels, ports, and the way to other threads."""
