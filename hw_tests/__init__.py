"""The evidence: the parity ladder, its back ends, and an oracle in plain integers."""

import training as training  # first: it sets OpenMP's wait policy before torch loads
