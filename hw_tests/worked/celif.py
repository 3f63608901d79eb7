"""Neurons worked by hand: what any implementation of the layers has to reproduce.

The numbers were worked out on paper from the equations in `hw_tests.oracle.oracle`, before any
code ran; each case shows its arithmetic. Do not regenerate them from an implementation.

In the comments a quotient like ``-10240/4096 = -2.5 → -2`` is rz(), MAX is 2²³−1 = 8388607, and
"S'" means that the neuron spiked at the previous step, so that nothing of V is kept.
"""

from typing import Any, NamedTuple

MAX = 8388607


class WorkedCase(NamedTuple):
    """A CE-LIF layer: arguments of `oracle.celif_layer`, and what it has to give."""

    name: str
    arguments: dict[str, Any]
    v: list[list[int]]
    theta: list[list[int]]
    s: list[list[int]]


WORKED_CASES: list[WorkedCase] = [
    # Halving decays, TE/2 = 1/2: every state passes through ±x.5 on its way to rest.
    # Neuron 0:
    #   k=0  Θ = 10                                         V = -5                        S 0
    #   k=1  Θ = 0 + (-5/2 = -2.5 → -2) + 10 = 8            V = -10240/4096 = -2.5 → -2    S 0
    #   k=2  Θ = 2048·(8-10)/4096 = -1; -2/2 = -1;   8      V = -4096/4096 = -1            S 0
    #   k=3  Θ = 2048·(8-10)/4096 = -1; -1/2 → 0;    9      V = -2048/4096 = -0.5 → 0      S 0
    #   k=4  Θ = 2048·(9-10)/4096 = -0.5 → 0; 0;    10      V = 0                         S 0
    #   (rounding down would give V = -5, -3, -2, -1, -1)
    # Neuron 1 is its mirror image: V = 5, 2, 1, 0, 0 and Θ−10 = 0, 2, 2, 1, 0.
    WorkedCase(
        name="rounds_towards_zero_on_both_sides",
        arguments=dict(
            weight=[[-5], [5]],
            inputs=[[1, 0, 0, 0, 0]],
            te=[[1, 1, 1, 1, 1], [1, 1, 1, 1, 1]],
            alpha_mant=2048,
            beta_mant=2048,
            theta0_int=10,
            te_exp=1,
            shift=0,
            bias_mant=[0, 0],
            bias_exp=0,
        ),
        v=[[-5, -2, -1, 0, 0], [5, 2, 1, 0, 0]],
        theta=[[10, 8, 8, 9, 10], [10, 12, 12, 11, 10]],
        s=[[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    ),
    # α = 1/2, β = 1/4, TE·V/4. TE[0] meets V = 0, so its 127 must not show.
    #   k=0  Θ = 200                                              V = 100              S 0
    #   k=1  Θ = 0; -3·100/4 = -75;                        125    V = 50 + 100 = 150   S 1
    #   k=2  Θ = 1024·(-75)/4096 = -18.75 → -18;
    #            -3·150/4 = -112.5 → -112;                  70    V = S' + 100 = 100   S 1
    #        (one joint rounding would give -131.25 → -131, Θ = 69)
    #   k=3  Θ = 1024·(-130)/4096 = -32.5 → -32;
    #            7·100/4 = 175;                            343    V = S' + 100 = 100   S 0
    #   k=4  Θ = 1024·143/4096 = 35.75 → 35; -100/4 = -25; 210    V = 50 + 0 = 50      S 0
    WorkedCase(
        name="negative_te_lowers_the_threshold",
        arguments=dict(
            weight=[[100]],
            inputs=[[1, 1, 1, 1, 0]],
            te=[[127, -3, -3, 7, -1]],
            alpha_mant=2048,
            beta_mant=1024,
            theta0_int=200,
            te_exp=2,
            shift=0,
            bias_mant=[0],
            bias_exp=0,
        ),
        v=[[100, 150, 100, 100, 50]],
        theta=[[200, 125, 70, 343, 210]],
        s=[[0, 1, 1, 0, 0]],
    ),
    # TE·V/16 = V and β = 0: Θ = 100 + the V of the step before, reset or not.
    #   k=0  Θ = 100              V = 120                                             S 1
    #   k=1  Θ = 100 + 120 = 220  V = S' + 120 = 120                                  S 0
    #        (a V reset before it enters Θ would leave Θ = 100, and a spike)
    #   k=2  Θ = 100 + 120 = 220  V = 4095·120/4096 = 119.97 → 119; 119 + 120 = 239   S 1
    #   k=3  Θ = 100 + 239 = 339  V = S' + 0 = 0                                      S 0
    WorkedCase(
        name="spike_resets_v_but_not_its_share_of_theta",
        arguments=dict(
            weight=[[120]],
            inputs=[[1, 1, 1, 0]],
            te=[[16, 16, 16, 16]],
            alpha_mant=4095,
            beta_mant=0,
            theta0_int=100,
            te_exp=4,
            shift=0,
            bias_mant=[0],
            bias_exp=0,
        ),
        v=[[120, 120, 239, 0]],
        theta=[[100, 220, 220, 339]],
        s=[[1, 0, 1, 0]],
    ),
    # α = β = 0: V is the weight. Neurons 0 to 2 stand one below, at, and one above Θ = 100.
    # Neuron 3 meets a threshold that comes down to it:
    #   k=0  Θ = 100, V = 50, S 0        k=1  Θ = -32·50/32 + 100 = 50, V = 50, S 1
    WorkedCase(
        name="spikes_on_equality",
        arguments=dict(
            weight=[[99], [100], [101], [50]],
            inputs=[[1, 1]],
            te=[[0, 0], [0, 0], [0, 0], [0, -32]],
            alpha_mant=0,
            beta_mant=0,
            theta0_int=100,
            te_exp=5,
            shift=0,
            bias_mant=[0, 0, 0, 0],
            bias_exp=0,
        ),
        v=[[99, 99], [100, 100], [101, 101], [50, 50]],
        theta=[[100, 100], [100, 100], [100, 100], [100, 50]],
        s=[[0, 0], [1, 1], [1, 1], [0, 1]],
    ),
    # 127 « 16 = 8323072; -128 « 16 = -8388608, one beyond the limit. Θ stays at MAX.
    # Neuron 0:
    #   k=0  V = 8323072, S 0
    #   k=1  8323072·4095/4096 = 8323072 - 2032 = 8321040; + 8323072 = 16644112 → MAX, = Θ: S 1
    #   k=2  V = S' + 0 = 0             k=3  V = 0
    # Neuron 1:
    #   k=0  V = -8388608 → -MAX
    #   k=1  -(8388607 - 2047.9998) = -8386559.0002 → -8386559; - 8388608 = -16775167 → -MAX
    #   k=2  V = -8386559
    #   k=3  8386559/4096 = 2047.4998; -(8386559 - 2047.4998) = -8384511.5002 → -8384511
    WorkedCase(
        name="v_saturates_at_both_ends",
        arguments=dict(
            weight=[[127], [-128]],
            inputs=[[1, 1, 0, 0]],
            te=[[0, 0, 0, 0], [0, 0, 0, 0]],
            alpha_mant=4095,
            beta_mant=2048,
            theta0_int=MAX,
            te_exp=6,
            shift=16,
            bias_mant=[0, 0],
            bias_exp=0,
        ),
        v=[[8323072, MAX, 0, 0], [-MAX, -MAX, -8386559, -8384511]],
        theta=[[MAX, MAX, MAX, MAX], [MAX, MAX, MAX, MAX]],
        s=[[0, 1, 0, 0], [0, 0, 0, 0]],
    ),
    # α = 1/32, bias = -4096 « 7 = -524288.
    #   k=0  V = 8323072 - 524288 = 7798784
    #   k=1  7798784/32 = 243712; + 8323072 = 8566784, beyond MAX, but not yet the whole sum;
    #        - 524288 = 8042496     (saturating on the way would give 8388607 - 524288 = 7864319)
    #   k=2  8042496/32 = 251328; + 0 - 524288 = -272960
    WorkedCase(
        name="v_saturates_once_after_the_whole_sum",
        arguments=dict(
            weight=[[127]],
            inputs=[[1, 1, 0]],
            te=[[0, 0, 0]],
            alpha_mant=128,
            beta_mant=0,
            theta0_int=8200000,
            te_exp=6,
            shift=16,
            bias_mant=[-4096],
            bias_exp=7,
        ),
        v=[[7798784, 8042496, -272960]],
        theta=[[8200000, 8200000, 8200000]],
        s=[[0, 0, 0]],
    ),
    # α = 0, β = 1/2, TE·V/64, Θ0 = 1000. V = 8323072 (or -MAX for neuron 2) at k = 0, 1; then 0.
    # Neuron 0, up:
    #   k=0  Θ = 1000, S 1
    #   k=1  127·8323072/64 = 127·130048 = 16516096; + 1000 → MAX                          S 0
    #   k=2  (8388607-1000)/2 = 8387607/2 = 4193803.5 → 4193803; + 0 + 1000 = 4194803       S 0
    #   k=3  4193803/2 = 2096901.5 → 2096901; + 1000 = 2097901                              S 0
    # Neuron 1, down:
    #   k=0  Θ = 1000, S 1
    #   k=1  -128·8323072/64 = -16646144; + 1000 → -MAX                                     S 1
    #   k=2  (-8388607-1000)/2 = -8389607/2 = -4194803.5 → -4194803 (Θ−Θ0 itself may leave 24
    #        bits); -4194803 - 16646144 + 1000 = -20839947 → -MAX;  V = 0                   S 1
    #   k=3  -4194803 + 0 + 1000 = -4193803;  V = 0                                         S 1
    # Neuron 2, V and Θ both at the lower end:
    #   k=0  Θ = 1000, V = -8388608 → -MAX, S 0
    #   k=1  127·(-8388607)/64 = -1065353089/64 = -16646142.02 → -16646142; + 1000 → -MAX
    #        V = -MAX, equal: S 1
    #   k=2  -4194803 + 0 + 1000 = -4193803;  V = 0                                         S 1
    #   k=3  (-4193803-1000)/2 = -2097401.5 → -2097401; + 1000 = -2096401;  V = 0           S 1
    WorkedCase(
        name="theta_saturates_at_both_ends",
        arguments=dict(
            weight=[[127], [127], [-128]],
            inputs=[[1, 1, 0, 0]],
            te=[[0, 127, 0, 0], [0, -128, -128, 0], [0, 127, 0, 0]],
            alpha_mant=0,
            beta_mant=2048,
            theta0_int=1000,
            te_exp=6,
            shift=16,
            bias_mant=[0, 0, 0],
            bias_exp=0,
        ),
        v=[[8323072, 8323072, 0, 0], [8323072, 8323072, 0, 0], [-MAX, -MAX, 0, 0]],
        theta=[
            [1000, MAX, 4194803, 2097901],
            [1000, -MAX, -MAX, -4193803],
            [1000, -MAX, -4193803, -2096401],
        ],
        s=[[1, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 1]],
    ),
    # α = 0, β = 1/2, TE·V/128 = -V, Θ0 = 8000000.
    #   k=0  Θ = 8000000, V = 8323072, S 1
    #   k=1  Θ = -8323072 + 8000000 = -323072, V = 8323072, S 1
    #   k=2  (-323072-8000000)/2 = -4161536; -4161536 - 8323072 = -12484608, beyond -MAX, but not
    #        yet the whole sum; + 8000000 = -4484608, V = 0, S 1
    #        (saturating on the way would give -8388607 + 8000000 = -388607)
    WorkedCase(
        name="theta_saturates_once_after_the_whole_sum",
        arguments=dict(
            weight=[[127]],
            inputs=[[1, 1, 0]],
            te=[[0, -128, -128]],
            alpha_mant=0,
            beta_mant=2048,
            theta0_int=8000000,
            te_exp=7,
            shift=16,
            bias_mant=[0],
            bias_exp=0,
        ),
        v=[[8323072, 8323072, 0]],
        theta=[[8000000, -323072, -4484608]],
        s=[[1, 1, 1]],
    ),
    # α = 3/4, β = 1/2, TE·V/8, acc « 3, bias 3 « 4 = 48 and -5 « 4 = -80.
    # Neuron 0: acc = 10-4, -4, 10, 0 = 6, -4, 10, 0;  « 3 = 48, -32, 80, 0
    #   k=0  Θ = 150                                          V = 48 + 48 = 96             S 0
    #   k=1  Θ = 2·96/8 = 24;                          174    V = 72 - 32 + 48 = 88        S 0
    #   k=2  Θ = 24/2 = 12; -3·88/8 = -33;             129    V = 66 + 80 + 48 = 194       S 1
    #   k=3  Θ = -21/2 → -10; 4·194/8 = 97;            237    V = S' + 0 + 48 = 48         S 0
    # Neuron 1: acc = -7+2, 2, -7, 0 = -5, 2, -7, 0;  « 3 = -40, 16, -56, 0
    #   k=0  Θ = 150                                          V = -40 - 80 = -120          S 0
    #   k=1  Θ = -1·-120/8 = 15;                       165    V = -90 + 16 - 80 = -154     S 0
    #   k=2  Θ = 15/2 → 7; 5·-154/8 = -96.25 → -96;     61    V = -115.5 → -115;
    #                                                             -115 - 56 - 80 = -251     S 0
    #   k=3  Θ = -89/2 → -44; -2·-251/8 = 62.75 → 62;  168    V = -188.25 → -188;
    #                                                             -188 + 0 - 80 = -268      S 0
    WorkedCase(
        name="bias_exponent_and_acc_shift",
        arguments=dict(
            weight=[[10, -4], [-7, 2]],
            inputs=[[1, 0, 1, 0], [1, 1, 0, 0]],
            te=[[1, 2, -3, 4], [0, -1, 5, -2]],
            alpha_mant=3072,
            beta_mant=2048,
            theta0_int=150,
            te_exp=3,
            shift=3,
            bias_mant=[3, -5],
            bias_exp=4,
        ),
        v=[[96, 88, 194, 48], [-120, -154, -251, -268]],
        theta=[[150, 174, 129, 237], [150, 165, 61, 168]],
        s=[[0, 0, 1, 0], [0, 0, 0, 0]],
    ),
    # Inputs that are not spikes: acc = 21, 0, -14, 7;  « 2 = 84, 0, -56, 28. te_exp = 0: Θ takes V.
    #   k=0  Θ = 64                                                        V = 84              S 1
    #   k=1  Θ = 84;                                                148    V = S' + 0 = 0      S 0
    #   k=2  Θ = 4095·84/4096 = 83.98 → 83; 0;                      147    V = 0 - 56 = -56    S 0
    #   k=3  Θ = 4095·83/4096 = 82.98 → 82; -56;                     90    V = -28 + 28 = 0    S 0
    WorkedCase(
        name="graded_inputs",
        arguments=dict(
            weight=[[7]],
            inputs=[[3, 0, -2, 1]],
            te=[[0, 1, 1, 1]],
            alpha_mant=2048,
            beta_mant=4095,
            theta0_int=64,
            te_exp=0,
            shift=2,
            bias_mant=[0],
            bias_exp=0,
        ),
        v=[[84, 0, -56, 0]],
        theta=[[64, 148, 147, 90]],
        s=[[1, 0, 0, 0]],
    ),
]
