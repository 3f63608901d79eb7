"""Sums of the rows of a matrix that a list names: what a product with spikes comes to.

A matrix is packed into blocks of columns (:func:`packed`) that fit into the first-level cache
together with all their rows. A sum of such rows stays in registers until it is complete. Numba's
loops would load and store it for every few rows, so that :func:`sum_rows` and what finds the
spikes are written in LLVM's vector operations. Rows are added in order, one after the other: the
results are those of the plain functions in every bit, whatever the width of a machine's vectors.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from training.kernels.scans.celif import DROPPED, SPIKED
from training.support import compiled
from training.support.compiled import CACHE_LINE

LANES = 16
"""Numbers of a vector."""
_VECTORS = (4, 3, 2, 1)
"""Vectors that a block of columns may have."""
_SAMPLES = 64
"""Samples whose spikes are listed together."""
_FLAGS = 64
"""Flags that are looked at together."""


def columns_of(neurons: int) -> int:
    """Return the width of a block of columns: that which needs the least padding."""
    vectors = min(_VECTORS, key=lambda each: -(-neurons // (LANES * each)) * each)
    return LANES * vectors


@compiled.jitable
def aligned_zeros(count: Any, dtype: Any) -> Any:
    """Return ``count`` zeros, the first of them at the beginning of a cache line."""
    zeros = np.zeros(count + CACHE_LINE, dtype)
    begin = -zeros.ctypes.data % CACHE_LINE // zeros.itemsize
    return zeros[begin : begin + count]


def packed_shape(inputs: int, neurons: int) -> tuple[int, int, int]:
    """Return (block, input, column) of a packed weight."""
    columns = columns_of(neurons)
    return -(-neurons // columns), inputs, columns


def packed(weight: np.ndarray) -> np.ndarray:
    """Return ``weight`` (input, neuron) in blocks of columns, padded with zeros."""
    blocks, inputs, columns = packed_shape(*weight.shape)
    wide = np.zeros((inputs, blocks * columns), weight.dtype)
    wide[:, : weight.shape[1]] = weight
    found = aligned_zeros(wide.size, wide.dtype).reshape(blocks, inputs, columns)
    found[:] = wide.reshape(inputs, blocks, columns).transpose(1, 0, 2)
    return found


def plain_sum_rows(
    rows: Any, start: Any, columns: Any, listed: Any, first: Any, count: Any,
    out: Any, place: Any, add: Any,
) -> None:  # fmt: skip
    """Set ``columns`` values of ``out`` to the sum of the listed rows, or add it to them.

    ``start``, ``first`` and ``place`` say where in their arrays the rows, the list of ``count`` row
    numbers and the values begin, as if the arrays were flat: a view for each would cost more than
    a sum of few rows.
    """
    rows, listed, out = rows.reshape(-1), listed.reshape(-1), out.reshape(-1)
    total = np.zeros(columns, rows.dtype)
    for row in listed[first : first + count]:
        total += rows[start + int(row) * columns :][:columns]
    out[place : place + columns] = out[place : place + columns] + total if add else total


def plain_sent(flags: Any, first: Any) -> Any:
    """Return which of the :data:`_FLAGS` flags from ``first`` sent a spike, as bits."""
    seen = flags.reshape(-1)[first : first + _FLAGS] & (SPIKED | DROPPED) == SPIKED
    return np.packbits(seen, bitorder="little").view(np.uint64)[0]


def plain_lowest(mask: Any) -> Any:
    """Return the place of the lowest bit of a mask that has one."""
    return np.uint64((int(mask) & -int(mask)).bit_length() - 1)


def _sum_rows(
    typing: Any, rows: Any, start: Any, columns: Any, listed: Any, first: Any, count: Any,
    out: Any, place: Any, add: Any,
) -> Any:  # fmt: skip
    ir, types = importlib.import_module("llvmlite.ir"), importlib.import_module("numba").types
    whole = ir.IntType(64)

    def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def begin(i: int, offset: Any) -> Any:
            array = context.make_array(signature.args[i])(context, builder, given[i])
            return builder.gep(array.data, [offset])

        rows, listed, out = begin(0, given[1]), begin(3, given[4]), begin(6, given[7])
        end = builder.append_basic_block("summed")
        other = builder.append_basic_block("other_width")
        switch = builder.switch(given[2], other)
        for vectors in _VECTORS:
            block = builder.append_basic_block(f"vectors_{vectors}")
            switch.add_case(ir.Constant(whole, vectors * LANES), block)
            builder.position_at_end(block)
            _write_sum(ir, builder, rows, listed, given[5], out, given[8], vectors)
            builder.branch(end)
        builder.position_at_end(other)
        builder.unreachable()
        builder.position_at_end(end)
        return context.get_dummy_value()

    given = (rows, types.int64, types.int64, listed, types.int64, types.int64, out, types.int64)
    return types.void(*given, types.boolean), write


def _write_sum(
    ir: Any, builder: Any, rows: Any, listed: Any, count: Any, out: Any, add: Any, vectors: int
) -> None:
    """Write the sum of rows that have ``vectors`` vectors each, all in registers."""
    whole, kind = ir.IntType(64), rows.type.pointee
    vector, size = ir.VectorType(kind, LANES), 8 if isinstance(kind, ir.DoubleType) else 4

    def at(start: Any, i: int) -> Any:
        place = builder.gep(start, [ir.Constant(whole, i * LANES)])
        return builder.bitcast(place, vector.as_pointer())

    zero, before = ir.Constant(vector, [0.0] * LANES), builder.block
    loop, end = (builder.append_basic_block(name) for name in ("rows", "rows_end"))
    builder.cbranch(builder.icmp_signed(">", count, ir.Constant(whole, 0)), loop, end)
    builder.position_at_end(loop)
    i, sums = builder.phi(whole), [builder.phi(vector) for _ in range(vectors)]
    row = builder.zext(builder.load(builder.gep(listed, [i])), whole)
    row = builder.gep(rows, [builder.mul(row, ir.Constant(whole, vectors * LANES))])
    new = [
        builder.fadd(total, builder.load(at(row, k), align=size)) for k, total in enumerate(sums)
    ]
    after = builder.add(i, ir.Constant(whole, 1))
    builder.cbranch(builder.icmp_signed("<", after, count), loop, end)
    i.add_incoming(ir.Constant(whole, 0), before)
    i.add_incoming(after, loop)
    builder.position_at_end(end)
    found = [builder.phi(vector) for _ in range(vectors)]
    for total, value, result in zip(sums, new, found, strict=True):
        for phi in (total, result):
            phi.add_incoming(zero, before)
            phi.add_incoming(value, loop)
    for k, total in enumerate(found):
        old = builder.select(add, builder.load(at(out, k), align=size), zero)
        builder.store(builder.fadd(old, total), at(out, k), align=size)


def _sent(typing: Any, flags: Any, first: Any) -> Any:
    ir, types = importlib.import_module("llvmlite.ir"), importlib.import_module("numba").types

    def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        start = context.make_array(signature.args[0])(context, builder, given[0]).data
        vector = ir.VectorType(ir.IntType(8), _FLAGS)
        place = builder.bitcast(builder.gep(start, [given[1]]), vector.as_pointer())
        bits = ir.Constant(vector, [SPIKED | DROPPED] * _FLAGS)
        seen = builder.and_(builder.load(place, align=1), bits)
        sent = builder.icmp_unsigned("==", seen, ir.Constant(vector, [SPIKED] * _FLAGS))
        return builder.bitcast(sent, ir.IntType(_FLAGS))

    return types.uint64(flags, types.int64), write


def _lowest(typing: Any, mask: Any) -> Any:
    ir, types = importlib.import_module("llvmlite.ir"), importlib.import_module("numba").types

    def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), write


sum_rows = compiled.intrinsic(_sum_rows, plain_sum_rows)
sent = compiled.intrinsic(_sent, plain_sent)
lowest = compiled.intrinsic(_lowest, plain_lowest)


@compiled.jitable
def list_spikes(flags: Any, inputs: Any, first: Any, last: Any, listed: Any, counts: Any) -> None:
    """List what was sent in rows ``first`` to ``last`` of ``flags``, which have ``inputs`` each."""
    flat = flags.reshape(-1)
    for row in range(last - first):
        count, start = 0, (first + row) * inputs
        if inputs < _FLAGS:
            for m in range(inputs):  # without a branch: a spike cannot be predicted
                listed[row, count] = m
                count += flat[start + m] & (SPIKED | DROPPED) == SPIKED
        else:
            for begin in range(0, inputs, _FLAGS):
                m = min(begin, inputs - _FLAGS)
                seen = np.uint64(begin - m)  # by the mask before
                mask = sent(flags, start + m) >> seen << seen
                while mask != 0:
                    listed[row, count] = np.uint64(m) + lowest(mask)
                    count += 1
                    mask &= mask - np.uint64(1)
        counts[row] = count


@compiled.jitable
def add_products(
    flags: Any, from_row: Any, blocks: Any, listed: Any, counts: Any, ends: Any,
    out: Any, to_row: Any, rows: Any, add: Any,
) -> None:  # fmt: skip
    """Set ``rows`` rows of ``out`` from ``to_row``, or add to them, what was sent to them.

    What was sent are the ``flags`` of as many rows from ``from_row``; both arrays count as
    matrices. ``blocks`` is the packed weight. ``listed`` (row, input + 1), ``counts`` and ``ends``,
    as wide as a block, are memory to work in.
    """
    count, inputs, columns = blocks.shape
    flat, neurons = out.reshape(-1), out.shape[-1]
    list_spikes(flags, inputs, from_row, from_row + rows, listed, counts)
    for b in range(count):
        low, start = b * columns, b * inputs * columns
        for row in range(rows):
            place, first = (to_row + row) * neurons + low, row * (inputs + 1)
            if low + columns <= neurons:
                sum_rows(blocks, start, columns, listed, first, counts[row], out, place, add)
            else:
                sum_rows(blocks, start, columns, listed, first, counts[row], ends, 0, False)
                for n in range(neurons - low):
                    flat[place + n] = flat[place + n] + ends[n] if add else ends[n]


@compiled.jitable
def feed_back(flags: Any, blocks: Any, g: Any, t: Any, first: Any, last: Any, x: Any) -> None:
    """Add what samples ``first`` to ``last`` of a group sent at t − 1 to their currents at t.

    ``flags`` and ``x`` are (group, time, sample, neuron), ``blocks`` the packed recurrent weight.
    """
    _, steps, size, neurons = x.shape
    listed, counts = np.empty((_SAMPLES, neurons + 1), np.uint32), np.empty(_SAMPLES, np.int64)
    ends = np.empty(blocks.shape[2], x.dtype)
    for i in range(first, last, _SAMPLES):
        row, rows = (g * steps + t) * size + i, min(_SAMPLES, last - i)
        add_products(flags, row - size, blocks, listed, counts, ends, x, row, rows, True)
