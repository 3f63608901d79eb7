"""A second implementation of a kit's specification: plain Python integers, no numpy, one clock.

It reads the kit's JSON and CSV alone and is written from SPECIFICATION.md, not from the code.
Unlike the twin, which takes sample after sample and layer after layer, it lets one time step follow
the other for the whole network, with messages under way between layers.
"""

import csv
import json
from collections import defaultdict
from pathlib import Path

LIMIT = 2**23 - 1


def towards_zero(x: int, n: int) -> int:
    sign = -1 if x < 0 else 1
    return sign * (sign * x // 2**n)


def clip(x: int, limit: int = LIMIT) -> int:
    return -limit if x < -limit else limit if x > limit else x


def of_row(value, row: int) -> int:
    """A constant of a layer, or of each of its rows."""
    return value[row] if isinstance(value, list) else value


def sum_right_shift(layer: dict) -> int:
    """By how many bits the sums from the layer before are shifted right."""
    if layer["kind"] == "CUBA":
        return layer["input_exp"]
    if layer["kind"] not in ("CELIF", "LIF", "ALIF"):
        return 0
    exponents = layer["weight_exp"]
    largest = max(exponents) if isinstance(exponents, list) else exponents
    return max(0, largest + layer["input_exp"] - layer["fraction_bits"])


def te_of(form: dict, row: int, k: int) -> int:
    if form["encoding"] == "cosine":
        # The phase after k steps, by one product in place of k sums.
        wave, phase = form["wave"], form["increment"][row] * k % 2**22
        quarter, rest = divmod(phase, 2**20)
        i = rest * len(wave) // 2**20
        value = wave[len(wave) - 1 - i] if quarter in (1, 3) else wave[i]
        return -value if quarter in (1, 2) else value
    column = k // form["hold"]
    if form["encoding"] == "table":
        return form["stored"][row][column]
    byte = form["stored"][row][column // 2] % 256
    half = byte // 16 if column % 2 else byte % 16
    return half - 16 if half >= 8 else half


def synapses(layer: dict) -> list[list[tuple[int, int]]]:
    """For every neuron, (input, weight) of its synapses."""
    weight, geometry = layer["weight"], layer["geometry"]
    if geometry is None:
        return [list(enumerate(row)) for row in weight]
    channels, height, width = geometry["input_shape"]
    (step_y, step_x), (pad_y, pad_x) = geometry["stride"], geometry["padding"]
    gap_y, gap_x = geometry["dilation"]
    size_y, size_x = len(weight[0][0]), len(weight[0][0][0])
    out_y = (height + 2 * pad_y - gap_y * (size_y - 1) - 1) // step_y + 1
    out_x = (width + 2 * pad_x - gap_x * (size_x - 1) - 1) // step_x + 1
    found = []
    for o, kernel in enumerate(weight):
        first = o // (len(weight) // geometry["groups"]) * (channels // geometry["groups"])
        for y in range(out_y):
            for x in range(out_x):
                reached = []
                for c, plane in enumerate(kernel):
                    for dy, line in enumerate(plane):
                        for dx, value in enumerate(line):
                            at_y = y * step_y - pad_y + dy * gap_y
                            at_x = x * step_x - pad_x + dx * gap_x
                            if 0 <= at_y < height and 0 <= at_x < width:
                                place = ((first + c) * height + at_y) * width + at_x
                                reached.append((place, value))
                found.append(reached)
    return found


class Neuron:
    """The registers of one neuron of any kind."""

    def __init__(self, layer: dict, row: int) -> None:
        self.layer, self.row = layer, row
        self.begin()

    def begin(self) -> None:
        self.v = self.s = self.u = self.total = self.act = self.rest = 0
        self.theta = self.layer.get("theta0_int", 0)

    def step(self, total: int, k: int) -> int:
        return getattr(self, self.layer["kind"].lower())(total, k)

    def celif(self, total: int, k: int) -> int:
        p, row = self.layer, self.row
        rest = p["theta0_int"]
        memory = towards_zero(of_row(p["beta_mant"], row) * (self.theta - rest), 12)
        context = towards_zero(te_of(p["te_form"], row, k) * self.v, of_row(p["te_exp"], row))
        self.theta = clip(memory + context + rest)
        kept = 0 if self.s else towards_zero(of_row(p["alpha_mant"], row) * self.v, 12)
        shift = (
            p["fraction_bits"] - of_row(p["weight_exp"], row) - p["input_exp"] + sum_right_shift(p)
        )
        assert shift == p["shift"][row]
        self.v = clip(kept + total * 2**shift + p["bias_mant"][row] * 2 ** p["bias_exp"])
        self.s = 1 if self.v >= self.theta else 0
        return self.s

    def lif(self, total: int, k: int) -> int:
        p, row = self.layer, self.row
        kept = 0 if self.s else towards_zero(of_row(p["alpha_mant"], row) * self.v, 12)
        bias = p["bias_mant"][row] * 2 ** p["bias_exp"]
        self.v = clip(kept + total * 2 ** p["shift"][row] + bias)
        self.s = 1 if self.v >= p["theta0_int"] else 0
        return self.s

    def alif(self, total: int, k: int) -> int:
        p, rest = self.layer, self.layer["theta0_int"]
        raised = p["gamma_int"] if self.s else 0
        memory = towards_zero(of_row(p["beta_mant"], self.row) * (self.theta - rest), 12)
        self.theta = clip(memory + raised + rest)
        self.lif(total, k)
        self.s = 1 if self.v >= self.theta else 0
        return self.s

    def cuba(self, total: int, k: int) -> int:
        p = self.layer
        current = towards_zero(self.u * (4095 - p["du"]), 12) + total * 64
        if current > 2**23:
            current -= 2**24
        elif current <= -(2**23):
            current += 2**24
        self.u = current
        kept = 0 if self.s else towards_zero(self.v * (4096 - p["dv"]), 12)
        self.v = clip(kept + current + p["bias_mant"][self.row] * 64)
        self.s = 1 if self.v > p["vth"] * 64 else 0
        return self.s

    def sdnn(self, total: int, k: int) -> int:
        p = self.layer
        assert p["shift"] == 12 - p["input_exp"]
        self.v += total * 2 ** p["shift"]
        now = max(self.v + p["bias_mant"][self.row] * 4096, 0)
        change, self.act = now - self.act + self.rest, now
        message = 0
        if abs(change) >= p["vth"] * 4096:
            message = clip(change, 65535 * 64)
        self.rest = change - message
        return message // 64

    def readout(self, total: int, k: int) -> int:
        self.total += total + self.layer["bias"][self.row]
        assert abs(self.total) < 2**31
        return 0


class Layer:
    """Neurons, their synapses, and what is under way to them."""

    def __init__(self, about: dict) -> None:
        self.about = about
        self.reached = synapses(about)
        assert about["sum_right_shift"] == sum_right_shift(about)
        assert about["recurrent_shift"] == about["input_exp"] - sum_right_shift(about)
        positions = len(self.reached) // len(about["weight"])
        self.neurons = [Neuron(about, n // positions) for n in range(len(self.reached))]
        self.own = about["weight_rec"] or [[] for _ in self.neurons]
        self.delays = [
            (about["delay"] or [0] * len(about["weight"]))[neuron.row] for neuron in self.neurons
        ]
        self.inbox: dict = defaultdict(lambda: defaultdict(int))
        self.fed_back: dict = defaultdict(lambda: defaultdict(int))

    def sums(self, now: int) -> list[int]:
        arrived, own = self.inbox.pop(now, {}), self.fed_back.pop(now, {})
        # Divisions by a power of two, rounding down.
        down, unit = 2 ** self.about["sum_right_shift"], 2 ** self.about["input_exp"]
        return [
            sum(w * arrived.get(i, 0) for i, w in reached) // down
            + sum(w * own.get(i, 0) for i, w in enumerate(row)) * unit // down
            for reached, row in zip(self.reached, self.own, strict=True)
        ]


def rows_of(file: Path) -> list[list[str]]:
    with file.open(newline="") as f:
        return list(csv.reader(f))[1:]


def run_case(folder: Path) -> tuple[dict, dict]:
    """Registers (layer, neuron, time step) → (sum, Θ, V, S), and logits (sample, class)."""
    about = json.loads((folder / "parameters.json").read_text())
    layers = [Layer(layer) for layer in about["layers"]]
    inputs = [[int(cell) for cell in row] for row in rows_of(folder / "input.csv")]
    samples, steps = 1 + max(row[0] for row in inputs), 1 + max(row[2] for row in inputs)
    period = steps + about["gap"]
    for sample, channel, k, value in inputs:
        # The first layer's lag is 1: what the input has at step k arrives at time step k + 2.
        layers[0].inbox[2 + sample * period + k][channel] += value
    registers, logits = {}, {}
    for now in range(1, 2 + layers[-1].about["lag"] + samples * period):
        for i, layer in enumerate(layers):
            sample, k = divmod(now - 1 - layer.about["lag"], period)
            sums = layer.sums(now)
            if not (0 <= sample < samples and k < steps):
                continue
            for n, neuron in enumerate(layer.neurons):
                if k == 0:
                    neuron.begin()
                sent = neuron.step(sums[n], k)
                registers[i, n, now] = (sums[n], neuron.theta, neuron.v, sent)
                if sent and layer.about["weight_rec"]:
                    layer.fed_back[now + 1][n] += sent
                if sent and i + 1 < len(layers):
                    layers[i + 1].inbox[now + 1 + layer.delays[n]][n] += sent
                if layer.about["kind"] == "READOUT":
                    logits[sample, n] = neuron.total
    if layers[-1].about["kind"] != "READOUT":
        logits = counted(layers[-1], registers, len(layers) - 1, samples, period, steps)
    return registers, logits


def counted(
    layer: Layer, registers: dict, i: int, samples: int, period: int, steps: int
) -> dict[tuple[int, int], int]:
    """Without a readout the logits are what the last layer sends before the sample's end."""
    late = int(layer.about["delay_shift"])
    found = {}
    for sample in range(samples):
        start = 1 + layer.about["lag"] + sample * period
        for n in range(len(layer.neurons)):
            last = steps - late - layer.delays[n]
            sent = [registers[i, n, start + k][3] for k in range(max(last, 0))]
            found[sample, n] = sum(sent)
    return found
