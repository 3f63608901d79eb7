"""The integer steps of SLAYER's CUBA and sigma-delta neurons over time, compiled.

:mod:`export.twin.scans` calls these for the layers that lava-dl's own blocks become.
"""

from __future__ import annotations

import numpy as np

from export.loihi2 import STATE_MAX
from export.model.network import CubaLayer, SigmaDeltaLayer
from export.model.trace import Run
from export.steps import cuba, sigma_delta
from export.steps.cuba import CubaParams, CubaState
from export.steps.sigma_delta import SigmaDeltaParams, SigmaDeltaState
from training.kernels.recurrent import feed_back
from training.support import compiled

_prange = compiled.parallel_range()
_cuba_step, _sigma_delta_step = cuba.step, sigma_delta.step
_MESSAGE_MAX = sigma_delta.MESSAGE_MAX


@compiled.kernel()
def _scan_cuba(acc, own, own_down, p, bias, keep, spikes, v, saturated):  # type: ignore[no-untyped-def]
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_u = np.zeros(neurons, np.int64)
        now_v = np.zeros(neurons, np.int64)
        now_s = np.zeros(neurons, np.int64)
        fed_back = np.zeros(neurons, np.int64)
        count = 0
        for t in range(steps):
            row = t if keep else 0
            if own.size:
                feed_back(own, now_s, fed_back)
                fed_back >>= own_down
            for n in range(neurons):
                new = _cuba_step(
                    np.int64(acc[b, t, n]) + fed_back[n],
                    CubaState(now_u[n], now_v[n], now_s[n]),
                    CubaParams(p.du, p.dv, p.vth, bias[n]),
                )
                now_u[n], now_v[n], now_s[n] = new.u, new.v, new.s
                spikes[b, t, n] = new.s
                v[b, row, n] = new.v
                count += abs(new.v) == STATE_MAX
        saturated[b] = count


@compiled.kernel()
def _scan_sigma_delta(acc, p, bias, keep, messages, sigma, saturated):  # type: ignore[no-untyped-def]
    batch, steps, neurons = acc.shape
    for b in _prange(batch):
        now_sigma = np.zeros(neurons, np.int64)
        now_act = np.zeros(neurons, np.int64)
        now_residue = np.zeros(neurons, np.int64)
        count = 0
        for t in range(steps):
            row = t if keep else 0
            for n in range(neurons):
                total = np.int64(acc[b, t, n])
                new = _sigma_delta_step(
                    total,
                    SigmaDeltaState(now_sigma[n], now_act[n], now_residue[n], np.int64(0)),
                    SigmaDeltaParams(p.shift, bias[n], p.vth),
                )
                # A sum that wrapped, or a message that had to be cut, is what saturation is here.
                count += new.sigma != now_sigma[n] + (total << p.shift)
                count += abs(new.s) >= _MESSAGE_MAX
                now_sigma[n], now_act[n], now_residue[n] = new.sigma, new.act, new.residue
                messages[b, t, n] = new.s
                sigma[b, row, n] = new.sigma
        saturated[b] = count


def run_cuba(
    layer: CubaLayer,
    p: CubaParams,
    own: tuple[np.ndarray, int],
    acc: np.ndarray,
    out: Run,
    ends: np.ndarray,
) -> None:
    """Scan a CUBA layer, see :data:`export.twin.scans.SCANS`."""
    decays = p._replace(bias=np.int64(0))
    _scan_cuba(acc, *own, decays, p.bias, out.kept, out.spikes, out.v, ends)


def run_sigma_delta(
    layer: SigmaDeltaLayer,
    p: SigmaDeltaParams,
    own: tuple[np.ndarray, int],
    acc: np.ndarray,
    out: Run,
    ends: np.ndarray,
) -> None:
    """Scan a sigma-delta layer, see :data:`export.twin.scans.SCANS`; it is never recurrent."""
    plain = p._replace(bias=np.int64(0))
    _scan_sigma_delta(acc, plain, p.bias, out.kept, out.spikes, out.v, ends)
