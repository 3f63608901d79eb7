"""Measurements: speed next to the peers, studies, and soaks. Not part of the wheel."""

import training as training  # first: it sets OpenMP's wait policy before torch loads
