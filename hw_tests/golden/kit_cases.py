"""Every case of a kit but the given network: each is about one rule of the specification."""

from __future__ import annotations

from hw_tests.golden import network_cases, neuron_cases
from hw_tests.golden.case import KitCase


def unit_cases() -> list[KitCase]:
    """The cases in the order in which to take them."""
    groups = (
        neuron_cases.rounding,
        neuron_cases.rules,
        neuron_cases.extremes,
        network_cases.te_forms,
        network_cases.time,
        network_cases.synapses_and_neurons,
        network_cases.shifted_sums,
    )
    return [case for group in groups for case in group()]
