"""CUBA neurons worked by hand; see :mod:`hw_tests.worked.celif` for the notation."""

from __future__ import annotations

from typing import Any, NamedTuple

from hw_tests.worked.celif import MAX


class WorkedCubaCase(NamedTuple):
    """A CUBA layer: arguments of `oracle.cuba_layer`, and what it has to give."""

    name: str
    arguments: dict[str, Any]
    v: list[list[int]]
    u: list[list[int]]
    s: list[list[int]]


WORKED_CUBA_CASES: list[WorkedCubaCase] = [
    # u keeps (4096-1024)/4096 = 3/4, v keeps 1/2; threshold 10 « 6 = 640.
    # Neuron 0: acc « 6 = 320, 0, 320, 0, 0; no bias.
    #   u = 320; 240; 180 + 320 = 500; 375; 281.25 → 281
    #   v = 320; 160 + 240 = 400; 200 + 500 = 700, spike; S' + 375 = 375 (u is not reset);
    #       187.5 → 187, + 281 = 468
    # Neuron 1: acc « 6 = -320, 0, -320, 0, 0; bias -3 « 2 = -12.
    #   u = -320; -240; -180 - 320 = -500; -375; -281.25 → -281
    #   v = -332; -166 - 240 - 12 = -418; -209 - 500 - 12 = -721; -360.5 → -360, - 375 - 12 = -747;
    #       -373.5 → -373, - 281 - 12 = -666
    # Neuron 2: acc « 6 = 640, 0, 640, 0, 0; no bias.
    #   u = 640; 480; 360 + 640 = 1000; 750; 562.5 → 562
    #   v = 640, equal to the threshold: no spike; 320 + 480 = 800, spike; 1000, spike; 750, spike;
    #       562
    WorkedCubaCase(
        name="decays_resets_and_spikes_strictly_above_threshold",
        arguments=dict(
            weight=[[5], [-5], [10]],
            inputs=[[1, 0, 1, 0, 0]],
            du=1023,
            dv=2048,
            vth=10,
            bias_mant=[0, -3, 0],
            bias_exp=2,
        ),
        v=[[320, 400, 700, 375, 468], [-332, -418, -721, -747, -666], [640, 800, 1000, 750, 562]],
        u=[[320, 240, 500, 375, 281], [-320, -240, -500, -375, -281], [640, 480, 1000, 750, 562]],
        s=[[0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]],
    ),
    # u keeps nothing, v keeps 1/4096; threshold 131071 « 6 = 8388544; 2²³ = 8388608 = 131072 « 6.
    #   k=0  u = 8388608 survives;                      v = 8388608 → MAX, spike
    #   k=1  u = 8388672 - 16777216 = -8388544;         v = S' - 8388544
    #   k=2  u = -8388544 stays;                        v = -2047.98 → -2047; -8390591 → -MAX
    #   k=3  u = -8388608 + 16777216 = 8388608;         v = -2047.9998 → -2047; 8386561, below
    #   k=4  u = -8388672 + 16777216 = 8388544;         v = 2047.5 → 2047; 8390591 → MAX, spike
    #   k=5  393217 « 6 = 25165888; u = 25165888 - 16777216 = 8388672: Lava takes off one turn only,
    #        and what is left stays beyond 2²³;         v = S' + 8388672 → MAX, spike
    WorkedCubaCase(
        name="current_wraps_by_one_turn_and_voltage_clips",
        arguments=dict(
            weight=[[1]],
            inputs=[[131072, 131073, -131071, -131072, -131073, 393217]],
            du=4095,
            dv=4095,
            vth=131071,
            bias_mant=[0],
            bias_exp=0,
        ),
        v=[[MAX, -8388544, -MAX, 8386561, MAX, MAX]],
        u=[[8388608, -8388544, -8388544, 8388608, 8388544, 8388672]],
        s=[[1, 0, 0, 0, 1, 1]],
    ),
]
