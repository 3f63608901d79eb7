"""Reading a trained network: blocks in a chain, or any module by its own forward pass."""
