"""The paper's network as a PyTorch module: layers that share one temporal encoding."""

from training.network.network import Network

__all__ = ["Network"]
