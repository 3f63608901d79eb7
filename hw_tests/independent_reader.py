"""A reader and simulator of netx files, written from ``export/FORMAT.md`` and nothing else.

It imports nothing of this project, and its author did not look at the code that writes, reads or
runs such files. Equal integers therefore say that the page is complete: whoever builds another
back end needs the page alone. It is plain and slow on purpose, and checks no more than the
version and the checksum; :func:`export.read_netx` is what validates a file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

NEWEST = 3
LARGEST = 2**23 - 1


@dataclass
class Results:
    """What a network computes: logits, and each layer's registers after every step."""

    logits: np.ndarray
    spikes: list[np.ndarray] = field(default_factory=list)
    v: list[np.ndarray] = field(default_factory=list)
    theta: list[np.ndarray] = field(default_factory=list)


class File:
    """The datasets of a file by their names; every name of a hard link has one."""

    def __init__(self, path: str | Path) -> None:
        self.values: dict[str, Any] = {}
        with h5py.File(path, "r") as file:
            self._collect(file, "")
        self.version = int(self.get("/celif/version", NEWEST))
        if self.version > NEWEST:
            raise ValueError(f"{path}: version {self.version}, this reader knows {NEWEST}")
        if "/celif/checksum" in self.values and self.text("/celif/checksum") != self.checksum():
            raise ValueError(f"{path}: the checksum is not that of the content")

    def _collect(self, group: h5py.Group, above: str) -> None:
        for name in group:
            member = group[name]
            if isinstance(member, h5py.Group):
                self._collect(member, f"{above}/{name}")
            else:
                self.values[f"{above}/{name}"] = np.asarray(member[()])

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def text(self, name: str) -> str:
        value = self.values[name].reshape(-1)[0]
        return value.decode() if isinstance(value, bytes) else str(value)

    def checksum(self) -> str:
        digest = hashlib.sha256()
        for name in sorted(self.values, key=str.encode):
            if name != "/celif/checksum":
                value = self.values[name]
                parts = (name, value.dtype.str, str(value.shape))
                digest.update(b"".join(part.encode() + b"\0" for part in parts))
                digest.update(value.tobytes())
        return digest.hexdigest()


def rz(x: np.ndarray, bits: np.ndarray | int) -> np.ndarray:
    """Shift right, rounding towards zero."""
    return np.sign(x) * (np.abs(x) >> bits)


def sat(x: np.ndarray) -> np.ndarray:
    """Clip to a register of 24 bits, symmetrically."""
    return np.clip(x, -LARGEST, LARGEST)


class Layer:
    """A layer of neurons: its synapses and what its neurons do at a step."""

    def __init__(self, file: File, number: int) -> None:
        self.file, self.root = file, f"/layer/{number}"
        self.kind = file.text(f"{self.root}/neuron/type")
        self.type = file.text(f"{self.root}/type")
        self.shape = tuple(int(n) for n in file.values[f"{self.root}/shape"])
        self.neurons = int(np.prod(self.shape))
        self.late = int(self.number("delayShift"))
        self.in_exp = int(self.number("inExp"))
        self.delay = self.per_neuron(self.number("delay"))
        self.weight = np.asarray(file.values[f"{self.root}/weight"]).astype(np.int64)
        self.bias = self.per_neuron(self.number("bias"))
        shared = max(
            np.max(self.parameter("wgtExp", 0)) + self.in_exp - self.parameter("fractionBits", 0), 0
        )
        self.r = {"CUBA": self.in_exp, "SDNN": 0, "READOUT": 0}.get(self.kind, int(shared))

    def number(self, name: str, default: int = 0) -> np.ndarray:
        return np.asarray(self.file.get(f"{self.root}/{name}", default)).astype(np.int64)

    def parameter(self, name: str, default: int | None = None) -> np.ndarray:
        value = self.file.get(f"{self.root}/neuron/{name}", default)
        return np.asarray(value).astype(np.int64)

    def per_neuron(self, rows: np.ndarray) -> np.ndarray:
        """A scalar as it is; the first rows, each of them for all pixels of its channel."""
        if rows.ndim == 0:
            return rows
        channels = self.neurons if self.type.startswith("dense") else self.shape[0]
        return np.repeat(rows[:channels], self.neurons // channels, axis=0)

    def synapses(self, x: np.ndarray) -> np.ndarray:
        """Sum of weights times inputs, for the inputs (batch, M) of one step."""
        if self.type == "input":
            return self.weight[0] * x
        return x @ self.weight.T if self.type.startswith("dense") else self.convolve(x)

    def convolve(self, x: np.ndarray) -> np.ndarray:
        names = ("stride", "padding", "dilation")
        (sy, sx), (py, px), (dy, dx) = (self.number(name) for name in names)
        x = x.reshape(len(x), *self.number("inShape"))
        x = np.pad(x, ((0, 0), (0, 0), (py, py), (px, px)))
        groups, rows = int(self.number("groups")), len(self.weight)
        per_group, (_, height, width) = rows // groups, self.shape
        out = np.zeros((len(x), *self.shape), np.int64)
        for row, kernel in enumerate(self.weight):
            first = row // per_group * kernel.shape[0]
            for (channel, ky, kx), weight in np.ndenumerate(kernel):
                top, left = ky * dy, kx * dx
                window = x[:, first + channel, top:, left:][:, ::sy, ::sx]
                out[:, row] += weight * window[:, :height, :width]
        return out.reshape(len(x), -1)

    def te(self, steps: int) -> np.ndarray:
        """TE mantissas, (rows, steps)."""
        kept = self.file.values[f"{self.root}/neuron/te"].astype(np.int64)
        encoding = "table"
        if f"{self.root}/neuron/teEncoding" in self.file.values:
            encoding = self.file.text(f"{self.root}/neuron/teEncoding")
        hold = int(self.parameter("teHold", 1))
        if encoding == "cosine":
            wave = self.parameter("teWave")
            q_bits = len(wave).bit_length() - 1
            phase = kept[:, None] * np.arange(steps) & (2**22 - 1)
            quarter, i = phase >> 20, (phase >> (20 - q_bits)) & (2**q_bits - 1)
            i = np.where(quarter % 2 == 1, 2**q_bits - 1 - i, i)
            return np.where((quarter == 1) | (quarter == 2), -wave[i], wave[i])
        if encoding == "packed":
            halves = np.stack([kept & 15, kept >> 4], axis=2).reshape(len(kept), -1)
            kept = np.where(halves > 7, halves - 16, halves)
        return kept[:, np.arange(steps) // hold]

    def run(self, x: np.ndarray, results: Results) -> np.ndarray:
        """Inputs (batch, M, steps) to what the layer fires, (batch, N, steps)."""
        batch, _, steps = x.shape
        zero = np.zeros((batch, self.neurons), np.int64)
        state = {name: zero for name in ("u", "v", "s", "sigma", "a", "r", "logits")}
        state["theta"] = zero + self.parameter("vThMant", 0)
        te = self.per_neuron(self.te(steps)) if self.kind == "CELIF" else None
        recurrent = self.number("weight_rec") if self.type == "dense_rec" else None
        kept: dict[str, list[np.ndarray]] = {"s": [], "v": [], "theta": []}
        for k in range(steps):
            acc = self.synapses(x[:, :, k]) >> self.r
            if recurrent is not None:
                acc = acc + ((state["s"] @ recurrent.T << self.in_exp) >> self.r)
            self.step(acc, state, None if te is None else te[:, k])
            for name, values in kept.items():
                values.append(state[name])
        if self.kind == "READOUT":
            results.logits = state["logits"]
            return zero[:, :, None]
        spikes, v, theta = (np.stack(values, axis=2) for values in kept.values())
        results.spikes.append(spikes)
        results.v.append(v)
        results.theta.append(theta)
        return spikes

    def step(self, acc: np.ndarray, state: dict[str, np.ndarray], te: np.ndarray | None) -> None:
        """The equations of the page; ``state`` is changed in place."""
        v, s = state["v"], state["s"]
        if self.kind == "READOUT":
            state["logits"] = state["logits"] + acc + self.bias
        elif self.kind == "SDNN":
            sigma = state["sigma"] + (acc << (12 - self.in_exp))
            state["sigma"] = (sigma + 2**31) % 2**32 - 2**31
            a = np.maximum(state["sigma"] + (self.bias << 12), 0)
            delta = a - state["a"] + state["r"]
            sent = np.abs(delta) >= self.parameter("vThMant") << 12
            m = np.where(sent, np.clip(delta, -(65535 << 6), 65535 << 6), 0)
            state.update(a=a, r=delta - m, s=m >> 6, v=state["sigma"])
        elif self.kind == "CUBA":
            u = rz((4096 - self.parameter("iDecay")) * state["u"], 12) + (acc << 6)
            u = np.where(u > 2**23, u - 2**24, np.where(u <= -(2**23), u + 2**24, u))
            decayed = rz((4096 - self.parameter("vDecay")) * v * (1 - s), 12)
            v = sat(decayed + u + (self.bias << 6))
            state.update(u=u, v=v, s=(v > self.parameter("vThMant") << 6).astype(np.int64))
        else:
            self.leaky_step(acc, state, te)

    def leaky_step(self, acc: np.ndarray, state: dict[str, np.ndarray], te: Any) -> None:
        v, s, theta, theta0 = state["v"], state["s"], state["theta"], self.parameter("vThMant")
        if self.kind in ("CELIF", "ALIF"):
            if self.kind == "CELIF":
                moved = rz(te * v, self.per_neuron(self.parameter("teExp")))
            else:
                moved = self.parameter("vThStep") * s
            beta = self.per_neuron(self.parameter("betaMant"))
            theta = sat(rz(beta * (theta - theta0), 12) + moved + theta0)
        exponent = self.per_neuron(self.parameter("wgtExp"))
        left = self.parameter("fractionBits") - exponent - self.in_exp + self.r
        current = (acc << left) + (self.bias << self.parameter("biasExp"))
        alpha = self.per_neuron(self.parameter("alphaMant"))
        v = sat(rz(alpha * v, 12) * (1 - s) + current)
        state.update(v=v, theta=theta, s=(v >= theta).astype(np.int64))


class Network:
    """A file's network."""

    def __init__(self, path: str | Path) -> None:
        self.file = File(path)
        numbers = {int(name.split("/")[2]) for name in self.file.values if name[:7] == "/layer/"}
        types = {i: self.file.text(f"/layer/{i}/type") for i in sorted(numbers)}
        self.layers = [Layer(self.file, i) for i, t in types.items() if t != "flatten"]

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Float samples (batch, channels, steps) to graded spikes."""
        get = self.file.values
        order = get["/celif/input/permutation"]
        x = x[:, :, order] if len(order) else x
        largest = 2 ** int(get["/celif/input/bits"]) - 1
        low = -largest if get["/celif/input/signed"] else 0
        scaled = np.round(x / float(get["/celif/input/scale"]))
        return np.clip(scaled, low, largest).astype(np.int64)

    def run(self, x: np.ndarray) -> Results:
        """Integer inputs (batch, channels, steps) through all layers."""
        results = Results(np.zeros(0))
        x = np.asarray(x, np.int64)
        for layer in self.layers:
            fired = layer.run(x, results)
            x = np.zeros_like(fired)
            late = np.broadcast_to(layer.late + layer.delay, layer.neurons)
            for neuron, steps in enumerate(late):
                x[:, neuron, steps:] = fired[:, neuron, : max(fired.shape[2] - steps, 0)]
        if self.layers[-1].kind != "READOUT":
            results.logits = x.sum(axis=2)
        return results
