"""Stands in for Intel's ``lava.proc.embedded_io``, of which public code shows module ``spike``."""
