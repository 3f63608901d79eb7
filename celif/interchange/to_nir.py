"""Writing an exported network as a NIR graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from celif import outputs
from celif.interchange.neurons import require_dt
from celif.interchange.nodes import NirError, nir_package
from export import FixedNetwork, read_netx
from export.convert.round import scales
from export.loihi2 import CURRENT_SHIFT, DECAY_ONE
from export.model.celif import CelifLayer
from export.model.lif import LeakyLayer, LifLayer
from export.model.slayer import CubaLayer
from training.support.atomic import atomic_file

SLAYER_UNIT = 64.0
"""What a weight of a CUBA layer is divided by, and its threshold, to be what SLAYER trained."""


def to_nir(
    net: str | os.PathLike[str] | FixedNetwork,
    path: str | os.PathLike[str] | None = None,
    *,
    dt: float,
) -> Any:
    """Return an exported network as a NIR graph, and write it to ``path`` if there is one.

    Weights, biases and constants are the floats that the integers stand for. LIF layers become LIF
    nodes with τ = dt / (1 − α). CUBA layers become CubaLIF nodes, or IF nodes where V does not leak
    and no current is kept. CE-LIF layers become nodes of type CELIF
    (:mod:`celif.interchange.nodes`), with their integers in the metadata. A readout becomes an
    Affine node that receives the last spikes, and an I node that takes the mean over the file's
    steps: its last potentials are the logits.

    Parameters
    ----------
    net
        A network as :func:`export.read_netx` returns it, or its file.
    path
        The NIR file to write.
    dt
        Length of a time step, in the unit that time constants are to have.
    """
    nir = nir_package()
    require_dt(dt)
    if path is not None:
        outputs.require_output(Path(path), outputs.NIR, {}, "to_nir")
    fixed = net if isinstance(net, FixedNetwork) else read_netx(net)
    shape = np.array([fixed.encoding.channels])
    nodes: dict[str, Any] = {"input": nir.Input({"input": shape})}
    edges, last = [], "input"
    scale = fixed.encoding.scale
    for i, layer in enumerate(fixed.layers):
        if not isinstance(layer, (CelifLayer, LifLayer, CubaLayer)):
            raise NirError(layer.name, "CE-LIF, LIF or CUBA neurons", layer.kind)
        if layer.geometry is not None or layer.output_delay.any():
            raise NirError(layer.name, "a dense layer without delays", "another")
        unit: Any = SLAYER_UNIT
        if not isinstance(layer, CubaLayer):
            unit = scales(layer.weight_exp, 2)
        weight = layer.weight / (unit * scale * 2.0**layer.input_exp)
        nodes[f"weights{i}"] = nir.Linear(weight=weight)
        nodes[f"neurons{i}"] = _neurons(nir, layer, dt)
        edges += [(last, f"weights{i}"), (f"weights{i}", f"neurons{i}")]
        gain = np.ones((layer.neurons, 1))
        if isinstance(layer, LifLayer):  # whose current NIR multiplies by 1 − α
            gain /= 1 - np.reshape(layer.alpha_mant, (-1, 1)) / DECAY_ONE
            nodes[f"weights{i}"] = nir.Linear(weight=weight * gain)
        if layer.weight_rec is not None:
            nodes[f"feedback{i}"] = nir.Linear(weight=layer.weight_rec / unit * gain)
            edges += [(f"neurons{i}", f"feedback{i}"), (f"feedback{i}", f"neurons{i}")]
        last, scale = f"neurons{i}", 1.0
    if fixed.readout is not None:
        step = 2.0**-fixed.readout.weight_exp
        nodes["readout"] = nir.Affine(
            weight=fixed.readout.weight * step, bias=fixed.readout.bias * step
        )
        mean = np.full(fixed.readout.neurons, 1 / (dt * fixed.steps))
        nodes["logits"] = nir.I(r=mean)
        edges += [(last, "readout"), ("readout", "logits")]
        last = "logits"
    width = fixed.layers[-1].neurons if fixed.readout is None else fixed.readout.neurons
    nodes["output"] = nir.Output({"output": np.array([width])})
    edges.append((last, "output"))
    graph = nir.NIRGraph(nodes, edges, metadata={"dt": dt, "steps": fixed.steps}, type_check=False)
    if path is not None:
        with atomic_file(path) as draft:
            nir.write(draft, graph)
    return graph


def _cuba(nir: Any, layer: CubaLayer, dt: float) -> Any:
    rows = layer.neurons
    current, voltage = (decay / DECAY_ONE for decay in (layer.du + 1, layer.dv))
    # Neurons fire above the threshold, in units of 2^−6 of a weight's; NIR's at it.
    threshold = np.full(rows, (layer.vth + 2.0**-CURRENT_SHIFT) / SLAYER_UNIT)
    bias = np.zeros(rows) if layer.bias_mant is None else layer.bias_mant / SLAYER_UNIT
    if voltage == 0 and current == 1 and not bias.any():
        return nir.IF(r=np.full(rows, 1 / dt), v_threshold=threshold, v_reset=np.zeros(rows))
    if voltage == 0 or current == 0:
        raise NirError(layer.name, "decays above 0, which are time constants", "0")
    return nir.CubaLIF(
        tau_syn=np.full(rows, dt / current),
        tau_mem=np.full(rows, dt / voltage),
        r=np.full(rows, 1 / voltage),
        v_leak=bias / voltage,
        v_threshold=threshold,
        v_reset=np.zeros(rows),
        w_in=np.full(rows, 1 / current),
        metadata={name: np.atleast_1d(getattr(layer, name)) for name in ("du", "dv", "vth")},
    )


def _neurons(nir: Any, layer: LeakyLayer | CubaLayer, dt: float) -> Any:
    if isinstance(layer, CubaLayer):
        return _cuba(nir, layer, dt)
    rows, unit = layer.neurons, 2.0**-layer.fraction_bits
    alpha = np.broadcast_to(layer.alpha_mant, rows) / DECAY_ONE
    theta0 = layer.theta0_int * unit
    integers = {
        name: np.atleast_1d(getattr(layer, name))
        for name in ("alpha_mant", "theta0_int", "fraction_bits", "weight_exp", "bias_mant")
    }
    if isinstance(layer, CelifLayer):
        integers |= {name: np.atleast_1d(getattr(layer, name)) for name in ("beta_mant", "te_exp")}
        return nir.CELIF(
            alpha=alpha,
            beta=np.broadcast_to(layer.beta_mant, rows) / DECAY_ONE,
            theta0=np.full(rows, theta0),
            bias=layer.bias * unit,
            te=layer.te / scales(layer.te_exp, 2),
            metadata={**integers, "te": layer.te},
        )
    return nir.LIF(
        tau=dt / (1 - alpha),
        r=np.ones(rows),
        v_leak=layer.bias * unit / (1 - alpha),
        v_threshold=np.full(rows, theta0),
        v_reset=np.zeros(rows),
        metadata=integers,
    )
