"""A training step compared with those of peers, with the targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.peers.peers import PEERS, PeerNetwork
from benchmarks.speed import workloads
from benchmarks.speed.parity import require
from benchmarks.speed.timing import Timed, interleave
from benchmarks.speed.workloads import Workload
from training import Network

ALIF_TARGET, PEER_TARGET = 10.0, 8.0
"""Least speed-up over ALIF, and over the fastest spiking peer."""

_CHECKED = 8
"""Sequences that tell whether a network works: all of them would cost the slowest half a minute."""


def _spikes(net: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    if isinstance(net, Network):
        return [hidden.spikes for hidden in net.hidden_states(x)]
    return net.hidden_spikes(x) if isinstance(net, PeerNetwork) else []


def at_work(name: str, net: nn.Module, shape: Workload) -> list[float]:
    """Firing rates of the layers; raise unless all fire and every parameter gets a gradient.

    Silence, or a gradient that stops half way, would be a workload that flatters one side.
    """
    x, y = (values[:_CHECKED] for values in shape.data())
    with torch.no_grad():
        rates = [round(float(s.mean()), 4) for s in _spikes(net, x)]
    for i, rate in enumerate(rates):
        require(0.01 < rate < 0.9, f"{name} layer {i}: expected it to fire, got a rate of {rate}")
    F.cross_entropy(net(x), y).backward()
    for key, p in net.named_parameters():
        if p.requires_grad:
            reached = p.grad is not None and bool(p.grad.isfinite().all() and p.grad.any())
            require(reached, f"{name} {key}: expected a finite gradient other than 0, got none")
    return rates


def _peers(
    shape: Workload, repetitions: int, report: Callable[[str], None]
) -> tuple[dict[str, Timed], dict[str, dict[str, Any]]]:
    """What to time, and what is known of each peer before; those without a case say why."""
    cases, found = {}, {}
    for key, peer in PEERS.items():
        report(f"building and checking {peer.name}")
        found[key] = about = {"name": peer.name, "spiking": peer.spiking}
        try:
            net = peer.build(shape)
        except ImportError as error:
            about["not_run"] = str(error)
            continue
        about["firing_rates"] = at_work(peer.name, net, shape)
        about["parameters"] = sum(p.numel() for p in net.parameters() if p.requires_grad)
        step, most = workloads.training_step(net, shape), peer.repetitions
        cases[key] = Timed(peer.name, step, min(repetitions, most), warm_up=peer.warm_up)
    return cases, found


def _judge(celif: Timed, peers: dict[str, Timed]) -> dict[str, Any]:
    """Ratios of medians and of fastest, and the targets; None where one cannot be judged."""
    result: dict[str, Any] = {"passed": {"alif": None, "peers": None}}
    spiking = {key: case for key, case in peers.items() if PEERS[key].spiking}
    if "alif" in spiking:
        faster = spiking["alif"].median / celif.median
        result["times_as_fast_as_alif"] = faster
        result["fastest_times_as_fast_as_alif"] = spiking["alif"].fastest / celif.fastest
        result["passed"]["alif"] = faster >= ALIF_TARGET
    best = min(spiking, key=lambda key: spiking[key].median)
    faster = spiking[best].median / celif.median
    result["fastest_peer"] = best
    result["times_as_fast_as_peers"] = faster
    result["fastest_times_as_fast_as_peers"] = spiking[best].fastest / celif.fastest
    # One that did not run might have been the fastest; a target missed already stays missed.
    if faster < PEER_TARGET or len(spiking) == sum(peer.spiking for peer in PEERS.values()):
        result["passed"]["peers"] = faster >= PEER_TARGET
    return result


def measure(
    shape: Workload,
    repetitions: int,
    peer_repetitions: int,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Times and ratios of one interleaved run; ratios are of medians."""
    report("building and checking celif")
    net = shape.network()
    rates = at_work("celif", net, shape)
    celif = Timed("celif", workloads.training_step(net, shape), repetitions)
    trained = shape.network(busy=True)
    busy = Timed("celif, busy", workloads.training_step(trained, shape), repetitions)
    cases, peers = _peers(shape, peer_repetitions, report)
    interleave([celif, busy, *cases.values()], report)
    for key, case in cases.items():
        peers[key] |= case.to_dict() | {"times_as_fast": case.median / celif.median}
    return {
        "parameters": net.num_parameters,
        "celif": celif.to_dict() | {"firing_rates": rates},
        "busy": busy.to_dict() | {"firing_rates": at_work("celif, busy", trained, shape)},
        "peers": peers,
        **_judge(celif, cases),
    }
