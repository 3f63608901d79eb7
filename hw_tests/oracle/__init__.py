"""The oracle: the integer equations in plain Python, sharing no code with the steps."""
