"""Networks in NIR, the exchange format of neuromorphic frameworks, by the package ``nir``."""

from celif.interchange.from_nir import from_nir
from celif.interchange.to_nir import to_nir

__all__ = ["from_nir", "to_nir"]
