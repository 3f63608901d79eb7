"""Channels between models in one process: a deque with a port at each end.

The ports are Lava's by type, because a RefPort tells its two channels apart by the type of their
ports, and behave as Lava's do: a message is a copy in the sender's declared type, an empty channel
makes the receiver wait, and a full one makes the sender wait.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from lava.magma.compiler.channels.pypychannel import CspRecvPort, CspSendPort
from lava.utils.sparse import find
from scipy.sparse import csr_matrix

from lava_procs.one_process.scheduler import Scheduler, Wait, Worker


class Channel:
    """Messages on their way from one port to another.

    Parameters
    ----------
    source, destination
        The two ends, as errors name them.
    shape, dtype
        What a message looks like: the sender's declaration.
    size
        Messages that it holds at most.
    """

    def __init__(
        self,
        source: str,
        destination: str,
        shape: tuple[int, ...],
        dtype: Any,
        size: int,
        scheduler: Scheduler,
    ):
        self.source, self.destination = source, destination
        self.shape, self.dtype, self.size = tuple(shape), np.dtype(dtype), size
        self.scheduler = scheduler
        self.messages: deque[np.ndarray] = deque()
        self.reader: Worker | None = None
        self.writer: Worker | None = None
        self._wait_for_message = Wait(f"for a message from {source} at {destination}")
        self._wait_for_room = Wait(
            f"for room in the channel from {source} to {destination}, which holds {size} messages"
        )

    def message(self, data: Any) -> np.ndarray:
        """A copy of ``data`` as it arrives."""
        if getattr(data, "shape", None) != self.shape:
            found = getattr(data, "shape", type(data).__name__)
            raise AssertionError(
                f"{self.source}: expected to send an array of shape {self.shape}, got {found}"
            )
        if type(data) is np.ndarray:
            return data.copy() if data.dtype == self.dtype else data.astype(self.dtype, order="C")
        message = np.empty(self.shape, self.dtype)
        message[:] = find(data, explicit_zeros=True)[2] if isinstance(data, csr_matrix) else data
        return message

    def put(self, data: Any) -> None:
        """Add a message; wait while there is no room."""
        message = self.message(data)
        messages = self.messages
        while len(messages) >= self.size:
            self.writer = self.scheduler.park(self._wait_for_room)
            self.scheduler.switch()
        messages.append(message)
        if self.reader is not None:
            reader, self.reader = self.reader, None
            self.scheduler.wake(reader)

    def await_message(self) -> None:
        """Wait while there is no message."""
        while not self.messages:
            self.reader = self.scheduler.park(self._wait_for_message)
            self.scheduler.switch()

    def take(self) -> np.ndarray:
        """Remove the next message; wait while there is none."""
        if not self.messages:
            self.await_message()
        message = self.messages.popleft()
        if self.writer is not None:
            writer, self.writer = self.writer, None
            self.scheduler.wake(writer)
        return message


class SendPort(CspSendPort):
    """The end of a channel that a model sends to."""

    def __init__(self, name: str, channel: Channel):
        self._name, self.channel = name, channel
        self._shape, self._dtype, self._size = channel.shape, channel.dtype, channel.size
        self.observer = None
        self.send = channel.put  # saves a call for each message

    def start(self) -> None:
        """Nothing listens in the background."""

    def probe(self) -> bool:
        """Whether a message would find room now, or once every other model waits."""
        channel = self.channel
        if len(channel.messages) >= channel.size:
            channel.scheduler.let_others_run()
        return len(channel.messages) < channel.size

    def join(self) -> None:
        """Nothing to wait for."""


class RecvPort(CspRecvPort):
    """The end of a channel that a model receives from."""

    def __init__(self, name: str, channel: Channel):
        self._name, self.channel = name, channel
        self._shape, self._dtype, self._size = channel.shape, channel.dtype, channel.size
        self.observer = None
        self._queue = _Length(channel.messages)
        self.recv = channel.take

    def start(self) -> None:
        """Nothing listens in the background."""

    def probe(self) -> bool:
        """Whether there is a message now, or once every other model waits."""
        if not self.channel.messages:
            self.channel.scheduler.let_others_run()
        return bool(self.channel.messages)

    def peek(self) -> np.ndarray:
        """Copy the next message, which stays; wait while there is none."""
        self.channel.await_message()
        return self.channel.messages[0].copy()

    def join(self) -> None:
        """Nothing to wait for."""


class _Length:
    """The part of Lava's queue that stock models ask for."""

    def __init__(self, messages: deque[np.ndarray]):
        self._messages = messages

    def qsize(self) -> int:
        return len(self._messages)
