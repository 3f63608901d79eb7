"""A stock LIF neuron on a Loihi 2: its parameters, input, spikes and V at 1,000 steps.

The run belongs to the NIR paper (github.com/neuromorphs/NIR, ``paper/01_lif``, commit ce078e7 of
2023-11-28): RingBuffer → adapter → Dense → LIF → adapter → Sink, written down without any shift.
What is known of the network is the NIR file (τ 2.5 ms, threshold 0.1, weight 1) and the trace. The
trace fixes the registers: an input adds 640 = 10 « 6, V keeps (4096 − 163)/4096 of itself, rounded
towards zero, U keeps nothing, and of all thresholds only 25 « 6 = 1,600 lies between the largest V
without a spike (1,589) and the smallest with one (1,656).

An input of step t is in V at t + 1, the step that a synapse takes; the adapters add none.
"""

from __future__ import annotations

import numpy as np

from export import FixedNetwork
from export.loihi2 import DECAY_ONE
from export.model.network import CubaLayer, Encoding

STEPS = 1000
WEIGHT, DU, DV, VTH = 10, DECAY_ONE - 1, 163, 25

INPUT_STEPS = (
    60, 220, 270, 310, 320, 350, 370, 400, 410, 430, 440, 450, 460, 470, 480, 490, 500, 510, 520,
    530, 670, 680, 690, 700, 710, 720, 730, 740, 750, 760, 770, 780, 840, 850,
)  # fmt: skip
SPIKE_STEPS = (461, 511, 711, 761)

# V as the chip shows it, from the given step on for as long as it is not 0; it is 0 elsewhere. At
# a spike it is 128: the refractory period of 1, which the chip counts in V in units of 128
# (github.com/lava-nc/lava issue 282, github.com/nengo/nengo-loihi issue 170).
_V = {
    61: """
        640 614 589 565 542 520 499 479 459 440 422 405 388 372 357 342 328 314 301 289 277 265 254
        243 233 223 214 205 196 188 180 172 165 158 151 144 138 132 126 120 115 110 105 100 96 92 88
        84 80 76 72 69 66 63 60 57 54 51 48 46 44 42 40 38 36 34 32 30 28 26 24 23 22 21 20 19 18 17
        16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1
    """,
    221: """
        640 614 589 565 542 520 499 479 459 440 422 405 388 372 357 342 328 314 301 289 277 265 254
        243 233 223 214 205 196 188 180 172 165 158 151 144 138 132 126 120 115 110 105 100 96 92 88
        84 80 76 712 683 655 628 603 579 555 532 510 489 469 450 432 414 397 381 365 350 336 322 309
        296 284 272 261 250 240 230 220 211 202 193 185 177 169 162 155 148 142 136 770 739 709 680
        652 626 601 577 554 531 1149 1103 1059 1016 975 936 898 862 827 794 762 731 701 673 646 620
        595 571 548 526 505 484 464 445 427 410 393 377 361 346 972 933 895 859 824 791 759 728 699
        671 644 618 593 569 546 524 503 482 462 443 1065 1022 981 941 903 867 832 798 766 735 705
        676 649 623 598 574 551 529 507 486 466 447 429 411 394 378 362 347 333 319 946 908 871 836
        802 770 739 709 680 652 1266 1215 1166 1119 1074 1031 989 949 911 874 839 805 772 741 711
        682 654 627 602 578 1194 1146 1100 1056 1013 972 933 895 859 824 1431 1374 1319 1266 1215
        1166 1119 1074 1031 989 1589 1525 1464 1405 1349 1295 1243 1193 1145 1099 128
    """,
    471: """
        640 614 589 565 542 520 499 479 459 440 1062 1019 978 939 901 865 830 796 764 733 1343 1289
        1237 1187 1139 1093 1049 1007 966 927 1530 1469 1410 1353 1299 1247 1197 1149 1103 1059 128
    """,
    521: """
        640 614 589 565 542 520 499 479 459 440 1062 1019 978 939 901 865 830 796 764 733 703 675
        648 622 597 573 550 528 506 485 465 446 428 410 393 377 361 346 332 318 305 292 280 268 257
        246 236 226 217 208 199 191 183 175 168 161 154 147 141 135 129 123 118 113 108 103 98 94 90
        86 82 78 74 71 68 65 62 59 56 53 50 48 46 44 42 40 38 36 34 32 30 28 26 24 23 22 21 20 19 18
        17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1
    """,
    671: """
        640 614 589 565 542 520 499 479 459 440 1062 1019 978 939 901 865 830 796 764 733 1343 1289
        1237 1187 1139 1093 1049 1007 966 927 1530 1469 1410 1353 1299 1247 1197 1149 1103 1059 128
    """,
    721: """
        640 614 589 565 542 520 499 479 459 440 1062 1019 978 939 901 865 830 796 764 733 1343 1289
        1237 1187 1139 1093 1049 1007 966 927 1530 1469 1410 1353 1299 1247 1197 1149 1103 1059 128
    """,
    771: """
        640 614 589 565 542 520 499 479 459 440 1062 1019 978 939 901 865 830 796 764 733 703 675
        648 622 597 573 550 528 506 485 465 446 428 410 393 377 361 346 332 318 305 292 280 268 257
        246 236 226 217 208 199 191 183 175 168 161 154 147 141 135 129 123 118 113 108 103 98 94 90
        86 722 693 665 638 612 587 563 540 518 497 1117 1072 1029 988 948 910 873 838 804 772 741
        711 682 654 627 602 578 554 531 509 488 468 449 431 413 396 380 364 349 335 321 308 295 283
        271 260 249 239 229 219 210 201 193 185 177 169 162 155 148 142 136 130 124 119 114 109 104
        99 95 91 87 83 79 75 72 69 66 63 60 57 54 51 48 46 44 42 40 38 36 34 32 30 28 26 24 23 22 21
        20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1
    """,
}


def lif_network() -> FixedNetwork:
    """The network of the trace: one input, one neuron."""
    layer = CubaLayer(
        name="layer 0",
        weight=np.array([[WEIGHT]]),
        lag=1,
        delay_shift=False,
        du=DU,
        dv=DV,
        vth=VTH,
        bias_mant=np.zeros(1, np.int64),
    )
    encoding = Encoding(channels=1, scale=1.0, bits=1, signed=False)
    return FixedNetwork((layer,), None, STEPS, 0, encoding, {})


def lif_input() -> np.ndarray:
    """Spikes (1, 1, step), each at the step at which the synapse delivers it."""
    x = np.zeros((1, 1, STEPS), np.int64)
    x[0, 0, np.array(INPUT_STEPS) + 1] = 1
    return x


def lif_spikes() -> np.ndarray:
    """Spikes (1, 1, step) of the chip."""
    s = np.zeros((1, 1, STEPS), np.int64)
    s[0, 0, list(SPIKE_STEPS)] = 1
    return s


def lif_v() -> np.ndarray:
    """V (1, 1, step) as the chip shows it after each step."""
    v = np.zeros((1, 1, STEPS), np.int64)
    for start, text in _V.items():
        values = [int(word) for word in text.split()]
        v[0, 0, start : start + len(values)] = values
    return v
