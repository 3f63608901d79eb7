"""Implementations of the float recurrence: the plain loop, compiled CPU kernels, a GPU kernel.

:mod:`training.functional` chooses among them. All share the step of :mod:`training.dynamics`; the
backward passes are written by hand and tests hold them to the plain loop.
"""
