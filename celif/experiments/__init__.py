"""The paper's experiments: each has a name, two sizes, and the paper's numbers next to ours.

:data:`celif.experiments.catalogue.EXPERIMENTS` lists them; ``celif reproduce NAME`` runs one.
"""
