"""Evidence of speed: celif beside its peers, in one run on one machine. Not part of the wheel."""
