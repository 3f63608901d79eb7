"""The paper's experiments: each behind a name, at two sizes, with the paper's numbers and ours.

:data:`celif.experiments.catalogue.EXPERIMENTS` lists them; ``celif reproduce NAME`` runs one.
"""
