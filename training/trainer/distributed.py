"""Data-parallel training: several processes share each batch and add up their gradients.

Process r takes rows ⌊n·r/size⌋ to ⌊n·(r+1)/size⌋ of a batch of n, divides the sum of its losses by
n, and the gradients are added: the mean over the whole batch, whether or not it divides evenly. All
of them make the same update, so they keep the same weights.

DistributedDataParallel is not used: it averages over processes, which is wrong for uneven shares,
and its advantage, sending parts of a large gradient early, is none for our 600 kB.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import distributed, multiprocessing, nn

SEED_STRIDE = 1_000_003
"""Process r draws its dropout from seed + r·SEED_STRIDE, so the first draws as if alone."""


_buffers: dict[tuple[Any, ...], torch.Tensor] = {}


def _buffer(like: torch.Tensor, device: torch.device, number: int = 0) -> torch.Tensor:
    """Return memory to send from or receive in, the same every time and never freed.

    Gloo's threads release a tensor some time after it has arrived. If they held the last reference,
    they would need Python's lock to free it, and destroy_process_group, which holds that lock while
    it waits for them, would never return.
    """
    key = (like.shape, like.dtype, device, number)
    if key not in _buffers:
        _buffers[key] = torch.empty_like(like, device=device)
    return _buffers[key]


class Group:
    """The processes of a training run; this one is number ``rank`` of ``size``."""

    def __init__(self, alone: bool = False) -> None:
        joined = not alone and distributed.is_available() and distributed.is_initialized()
        self.rank = distributed.get_rank() if joined else 0
        self.size = distributed.get_world_size() if joined else 1

    def share(self, count: int) -> slice:
        """Return the rows of a batch of ``count`` that this process takes."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def totals(self, values: Sequence[float], device: torch.device) -> list[float]:
        """Return the sums over all processes."""
        if self.size == 1:
            return list(values)
        local = torch.tensor(values, dtype=torch.float64)
        tensor = _buffer(local, device).copy_(local)
        distributed.all_reduce(tensor)
        return tensor.tolist()

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace every gradient by its sum over all processes."""
        if self.size == 1:
            return
        trained = [p for p in parameters if p.requires_grad]
        # A process whose share is empty has no gradients and adds nothing. A parameter without a
        # gradient in any process must stay without: an optimiser would still decay it for a zero.
        present = torch.tensor([float(p.grad is not None) for p in trained])
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        flat = torch.cat([piece.reshape(-1) for piece in pieces])
        flat = torch.cat([flat, present.to(flat)])
        flat = _buffer(flat, flat.device).copy_(flat)
        distributed.all_reduce(flat)
        found = flat[-len(trained) :].tolist()
        parts = flat.split([p.numel() for p in trained] + [len(trained)])
        for p, part, count in zip(trained, parts[:-1], found, strict=True):
            p.grad = part.view_as(p).to(p.dtype, copy=True) if count else None

    def gather(self, tensor: torch.Tensor, device: torch.device) -> list[torch.Tensor]:
        """Return the tensors of all processes, which have one shape, on the CPU."""
        if self.size == 1:
            return [tensor.cpu()]
        own = _buffer(tensor, device).copy_(tensor)
        parts = [_buffer(tensor, device, 1 + rank) for rank in range(self.size)]
        distributed.all_gather(parts, own)
        return [part.to("cpu", copy=True) for part in parts]

    def start_alike(self, net: nn.Module) -> None:
        """Give every process the first one's weights."""
        if self.size > 1:
            for value in net.state_dict().values():
                sent = _buffer(value, value.device).copy_(value)
                distributed.broadcast(sent, 0)
                value.copy_(sent)


def under_torchrun() -> bool:
    """Whether torchrun, or a scheduler that acts like it, started this process."""
    return {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= set(os.environ)


@contextmanager
def joined(device: torch.device, **where: Any) -> Iterator[Group]:
    """Join the processes of a training run; ``where`` goes to ``init_process_group``."""
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", **where)
    try:
        yield Group()
        # They leave together: with torch 2.13, one that was still connected to another that had
        # left aborted at its end, about once in three runs.
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def local_device(kind: str, index: int) -> torch.device:
    """Return the device of the process that is number ``index`` on its machine."""
    if kind != "cuda":
        return torch.device(kind)
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def launch(work: Callable[..., None], processes: int, kind: str, *arguments: Any) -> None:
    """Run ``work(group, device, *arguments)`` in new processes on this machine, and wait.

    Raises
    ------
    torch.multiprocessing.ProcessExitedException
        If one of them ends with an exit code other than 0; the others are terminated.
    """
    if kind == "cuda" and processes > torch.cuda.device_count():
        raise ValueError(
            f"devices: expected at most {torch.cuda.device_count()}, the GPUs of this machine, "
            f"got {processes}"
        )
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder, "meeting").as_uri()
        with _threads(max(1, (os.cpu_count() or 1) // processes)):
            children = multiprocessing.start_processes(
                _process,
                (processes, kind, meeting, work, arguments),
                nprocs=processes,
                join=False,
                start_method="spawn",
            )
        while not children.join():
            pass


def _process(
    rank: int,
    size: int,
    kind: str,
    meeting: str,
    work: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    device = local_device(kind, rank)
    with joined(device, init_method=meeting, rank=rank, world_size=size) as group:
        work(group, device, *arguments)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let processes that are started inside use ``count`` threads, unless the user has set it."""
    added = [n for n in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS") if n not in os.environ]
    os.environ.update(dict.fromkeys(added, str(count)))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
