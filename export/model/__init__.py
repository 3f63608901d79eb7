"""A network in integers: what a netx file holds and what the twin and Lava run.

Every class validates itself on construction, so a value that exists is a value in range.
"""
