"""Quantisation-aware networks: their forward pass is the integer one, and they can be trained."""
