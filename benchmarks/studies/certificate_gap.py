"""How near the attack comes to the certificate's bounds, in several regimes: a table in markdown.

``python -m benchmarks.studies.certificate_gap`` makes the second table of docs/certificate.md. Each
row is a
network of random integers with two layers and T steps, attacked as ``celif inspect --attack`` does.
The bound without unrolling, a box of V and Θ that is carried from step to step (depth 0), shows
what the proof gains by looking back.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from export.model.network import CelifLayer, FixedNetwork
from export.proof.attack import attack
from export.proof.certificate import certify, input_ranges
from export.proof.intervals import intervals
from hw_tests.networks.random_nets import random_network

REGIMES: dict[str, dict[str, Any]] = {
    "α = 1/2, as trained": {"alpha_mant": 2048, "beta_mant": 4055},
    "no leak in Θ": {"alpha_mant": 2048, "beta_mant": 4095},
    "slow V": {"alpha_mant": 3700, "beta_mant": 4055},
    "slower V": {"alpha_mant": 4000, "beta_mant": 4055},
    "no leak in V": {"alpha_mant": 4095, "beta_mant": 4055},
    "no leak, TE > 0": {"alpha_mant": 4095, "beta_mant": 4055, "te": np.abs},
    "TE > 0": {"alpha_mant": 2048, "beta_mant": 4055, "te": np.abs},
    "TE nearly 0": {"alpha_mant": 2048, "beta_mant": 4055, "te": lambda te: te // 64},
    "TE eight times larger": {"alpha_mant": 2048, "beta_mant": 4055, "te_exp": 7},
    "4-bit TE, cosine": {"te_form": "cosine", "te_bits": 4},
    "exponents per channel": {"per_channel": True},
}


def network(seed: int, steps: int, regime: dict[str, Any]) -> FixedNetwork:
    """A random network whose CE-LIF layers have the registers of ``regime``."""
    rng = np.random.default_rng(seed)
    made = {k: v for k, v in regime.items() if k in ("te_form", "te_bits", "per_channel")}
    net = random_network(rng, (30, 20), steps, channels=10, **made)
    change = {k: v for k, v in regime.items() if k not in made and k != "te"}
    layers = []
    for layer in net.layers:
        assert isinstance(layer, CelifLayer)
        te = regime["te"](layer.te) if "te" in regime else layer.te
        layers.append(replace(layer, te=te, **change))
    return replace(net, layers=tuple(layers))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    out = sys.stdout
    out.write(
        f"T = {args.steps}; least and largest over {args.seeds} networks of two layers each\n\n"
        "| regime | V reached | Θ reached | box / bound, V | box / bound, Θ | passed |\n"
        "|---|---|---|---|---|---|\n"
    )
    for name, regime in REGIMES.items():
        shares: dict[str, list[float]] = {"V": [], "Θ": []}
        gains: dict[str, list[float]] = {"V": [], "Θ": []}
        passed = False
        for seed in range(args.seeds):
            net = network(seed, args.steps, regime)
            certificate = certify(net)
            report = attack(net, certificate, rounds=2, seed=seed)
            passed = passed or report.passed
            for layer, attacked, ends in zip(
                net.layers, report.layers, input_ranges(net), strict=False
            ):
                assert isinstance(layer, CelifLayer)
                box = intervals(layer, *ends, depth=0)
                largest = {"V": int(box.v.max()), "Θ": int(box.theta.max())}
                for reached in attacked.reached:
                    if reached.register in shares and reached.alone_ratio is not None:
                        shares[reached.register].append(reached.alone_ratio)
                        gains[reached.register].append(largest[reached.register] / reached.bound)
        row = [f"{100 * min(s):.0f} … {100 * max(s):.0f} %" for s in shares.values()]
        row += [f"{min(g):.2f} … {max(g):.2f}" for g in gains.values()]
        out.write(f"| {name} | {' | '.join(row)} | {'YES' if passed else 'no'} |\n")


if __name__ == "__main__":
    main()
