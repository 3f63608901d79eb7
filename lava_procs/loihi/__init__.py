"""Reaching a Loihi 2: its host, on-chip models, and the network that runs there."""
