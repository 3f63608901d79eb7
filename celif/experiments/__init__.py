"""The paper's experiments: each behind a name, at two sizes, with the paper's numbers beside ours.

:data:`celif.experiments.catalogue.EXPERIMENTS` lists them; ``celif reproduce NAME`` runs one.
"""
