"""The evidence: the parity ladder, its back ends, and an oracle in plain integers."""
