"""Channels between a model and other threads: what Injector, Extractor and their like talk through.

Whichever end belongs to a model parks its worker, and whichever end does not blocks its thread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from greenlet import getcurrent

from lava_procs.one_process.messages.channels import Channel, RecvPort, SendPort
from lava_procs.one_process.scheduler import Scheduler, Wait, Worker

_POLL = 0.05
_MOMENT = 0.01
"""Seconds in which another thread does something with a message that it has taken."""


class ExternalChannel(Channel):
    """A channel with one end outside the network."""

    def __init__(
        self,
        source: str,
        destination: str,
        shape: tuple[int, ...],
        dtype: Any,
        size: int,
        scheduler: Scheduler,
    ):
        super().__init__(source, destination, shape, dtype, size, scheduler)
        self._filled = Wait(self._wait_for_message.reason, lambda: bool(self.messages))
        self._emptied = Wait(self._wait_for_room.reason, self._has_room)
        self._listened = False

    def put(self, data: Any) -> None:
        """Add a message; wait while there is no room."""
        message = self.message(data)
        self._wait(self._emptied)
        with self.scheduler.bell:
            self.messages.append(message)
            self.scheduler.bell.notify_all()

    def await_message(self) -> None:
        """Wait while there is no message."""
        self._wait(self._filled)

    def take(self) -> np.ndarray:
        """Remove the next message; wait while there is none."""
        self._wait(self._filled)
        with self.scheduler.bell:
            self._listened |= not self._inside()
            message = self.messages.popleft()
            self.scheduler.bell.notify_all()
        return message

    def _has_room(self) -> bool:
        return len(self.messages) < self.size

    def _wait(self, wait: Wait) -> None:
        assert wait.met is not None
        while not wait.met():
            if self._inside():
                self.scheduler.park(wait)
                self.scheduler.switch()
            else:
                with self.scheduler.bell:
                    self._listened |= wait is self._filled
                    if not wait.met():
                        self.scheduler.bell.wait(_POLL)

    def _inside(self) -> bool:
        """Whether a model of this network is calling."""
        worker = getcurrent()
        return isinstance(worker, Worker) and worker.scheduler is self.scheduler

    def hand_over(self) -> None:
        """Give a thread that receives the moment that it needs to take the last messages."""
        if not self._listened:
            return
        with self.scheduler.bell:
            while self.messages and self.scheduler.bell.wait(_POLL):
                pass
        time.sleep(_MOMENT)


def external_ports(name: str, channel: ExternalChannel) -> tuple[SendPort, RecvPort]:
    """Both ends; the model's is called ``name``."""
    return ExternalSendPort(name, channel), ExternalRecvPort(name, channel)


class ExternalSendPort(SendPort):
    """An end that answers at once whether there is room, because other threads may take a while."""

    def probe(self) -> bool:
        """Whether a message would find room now."""
        return len(self.channel.messages) < self.channel.size


class ExternalRecvPort(RecvPort):
    """An end that answers at once whether there is a message."""

    def probe(self) -> bool:
        """Whether there is a message now."""
        return bool(self.channel.messages)
