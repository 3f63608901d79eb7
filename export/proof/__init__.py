"""Bounds of every register for every possible input, and attacks that try to reach them."""
