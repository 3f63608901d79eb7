"""The paper's artificial networks: LSTM, IndRNN and TCN, one pixel a step like the others."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from training.baselines.readout import Reading


class LSTM(nn.Module):
    """One layer of LSTM cells, biases of the forget gate at 1."""

    def __init__(
        self,
        in_features: int,
        classes: int,
        readout: str = "last",
        permutation: Sequence[int] | None = None,
        width: int = 128,
    ) -> None:
        super().__init__()
        self.config = {"in_features": in_features, "classes": classes, "readout": readout}
        self.config["width"] = width
        self.cells = nn.LSTM(in_features, width, batch_first=True)
        with torch.no_grad():
            biases = dict(self.cells.named_parameters())["bias_ih_l0"]
            biases[width : 2 * width] = 1
        self.reading = Reading(width, classes, readout, permutation)

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs of the cells, (batch, cell, time)."""
        return self.cells(self.reading.ordered(x).transpose(1, 2))[0].transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of ``x`` (batch, channel, time)."""
        return self.reading(self.hidden(x))


class IndRNN(nn.Module):
    """Independently recurrent layers: h[t] = relu(W·x[t] + u⊙h[t-1] + b)."""

    def __init__(
        self,
        in_features: int,
        classes: int,
        readout: str = "last",
        permutation: Sequence[int] | None = None,
        width: int = 139,
        depth: int = 6,
    ) -> None:
        super().__init__()
        self.config = {"in_features": in_features, "classes": classes, "readout": readout}
        self.config |= {"width": width, "depth": depth}
        self.layers = nn.ModuleList(
            nn.Linear(width if i else in_features, width) for i in range(depth)
        )
        # Near 1 at first: the gradient of a unit over T steps is u^T.
        self.own = nn.ParameterList(torch.empty(width).uniform_(0.9, 1) for _ in range(depth))
        self.reading = Reading(width, classes, readout, permutation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of ``x`` (batch, channel, time)."""
        x = self.reading.ordered(x)
        for layer, own in zip(self.layers, self.own, strict=True):
            current = layer(x.transpose(1, 2))
            h, steps = torch.zeros_like(current[:, 0]), []
            for now in current.unbind(1):
                h = F.relu(now + own * h)
                steps.append(h)
            x = torch.stack(steps, -1)
        return self.reading(x)


class _Residual(nn.Module):
    """Two dilated causal convolutions and a skip connection."""

    def __init__(self, before: int, width: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.past = (kernel - 1) * dilation
        self.first = nn.Conv1d(before, width, kernel, dilation=dilation)
        self.second = nn.Conv1d(width, width, kernel, dilation=dilation)
        self.skip = nn.Conv1d(before, width, 1) if before != width else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = x
        for convolution in (self.first, self.second):
            inner = F.relu(convolution(F.pad(inner, (self.past, 0))))
        return F.relu(inner + self.skip(x))


class TCN(nn.Module):
    """Temporal convolutions that see 2^depth times the kernel back."""

    def __init__(
        self,
        in_features: int,
        classes: int,
        readout: str = "last",
        permutation: Sequence[int] | None = None,
        width: int = 25,
        depth: int = 8,
        kernel: int = 7,
    ) -> None:
        super().__init__()
        self.config = {"in_features": in_features, "classes": classes, "readout": readout}
        self.config |= {"width": width, "depth": depth, "kernel": kernel}
        self.blocks = nn.Sequential(
            *(_Residual(width if i else in_features, width, kernel, 2**i) for i in range(depth))
        )
        self.reading = Reading(width, classes, readout, permutation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of ``x`` (batch, channel, time)."""
        return self.reading(self.blocks(self.reading.ordered(x)))
