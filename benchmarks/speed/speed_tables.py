"""The benchmark's results for reading: tables, and a line with a verdict for every target."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.lava import inline_step, lava_step
from benchmarks.speed import deployment, doors, products, rivals, training_step
from benchmarks.speed.workloads import Workload

console = Console(highlight=False, soft_wrap=True)


def verdict(passed: bool | None, judged: bool) -> str:
    """A target's, in a word."""
    if not judged:
        return "not judged (--quick)"
    if passed is None:
        return "[bold red]not judged: a peer did not run[/]"
    return "[bold green]PASS[/]" if passed else "[bold red]FAIL[/]"


def show_doors(result: dict[str, Any], judged: bool) -> None:
    """Print the processor time of the command's help and of the imports."""
    for name, seconds in result["seconds"].items():
        line = f"{name}: " + ("failed" if seconds is None else f"{seconds:.2f} s of processor time")
        if name in doors.TARGETS:
            line += f" (target ≤ {doors.TARGETS[name]:g} s)  "
            line += verdict(result["passed"][name], judged)
        console.print(line)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in headings:
        left = heading in ("", "peer", "firing rates")
        table.add_column(heading, justify="left" if left else "right", no_wrap=left)
    return table


def _rates(found: dict[str, Any]) -> str:
    return " ".join(f"{rate:.0%}" for rate in found.get("firing_rates", ()))


def show_rivals(result: dict[str, Any], judged: bool) -> None:
    """Print the step of every model that the paper ran, and how it compares with CE-LIF's."""
    title = f"Training step of {list(rivals.HIDDEN)}, batch {result['batch']}, one thread"
    table = _table(title, "", "ms a sample", "of CE-LIF's", "of a busy CE-LIF's", "firing rates")
    for name, milliseconds in result["milliseconds_per_sample"].items():
        kind, _, structure = name.rpartition(" ")
        ratios = [
            f"{result[key][kind]:.2f}" if structure == "feedforward" and kind in result[key] else ""
            for key in ("times_celif", "times_busy_celif")
        ]
        rates = " ".join(f"{rate:.0%}" for rate in result["firing_rates"].get(name, ()))
        table.add_row(name, f"{milliseconds:.2f}", *ratios, rates)
    console.print(table)
    worst = max(result["times_celif"].values())
    console.print(
        f"slowest feedforward rival: {worst:.2f} times CE-LIF (target ≤ {rivals.TIMES_CELIF:g})  "
        + verdict(all(v for k, v in result["passed"].items() if "feedforward" in k), judged)
    )
    console.print(
        f"recurrent LIF: {result['times_products']:.2f} times its dense products "
        f"(target ≤ {rivals.TIMES_PRODUCTS:g})  "
        + verdict(result["passed"]["LIF recurrent"], judged)
    )


def show_products(result: dict[str, Any], shape: Workload, judged: bool) -> None:
    """Our step and its matrix products."""
    widths = " → ".join(str(n) for n in (shape.in_features, *shape.hidden, shape.classes))
    title = (
        f"Training step, {result['parameters']:,} parameters ({widths}), "
        f"batch {shape.batch}, T = {shape.steps}"
    )
    table = _table(title, "", "median ms", "fastest ms", "runs", "firing rates")
    names = {
        "fresh": "celif, fresh",
        "busy": "celif, as busy as trained",
        "products": "its matrix products alone",
    }
    for key, name in names.items():
        times = result[key]
        median, fastest = times["median_seconds"], times["fastest_seconds"]
        count = str(len(times["seconds"]))
        table.add_row(name, f"{median * 1e3:,.1f}", f"{fastest * 1e3:,.1f}", count, _rates(times))
    console.print(table)
    for key in ("fresh", "busy"):
        found = result[key]
        console.print(
            f"{names[key]}: {found['times_its_products']:.2f} times its matrix products "
            f"(target ≤ {products.TARGET:g}; of the fastest: "
            f"{found['fastest_times_its_products']:.2f})  "
            f"{verdict(result['passed'][f'products, {key}'], judged)}"
        )


def show_peers(result: dict[str, Any], shape: Workload, judged: bool) -> None:
    """Our step and its peers'."""
    title = f"Steps of celif and of its peers, batch {shape.batch}, in one run: medians"
    headings = ("peer", "seconds", "ours is N times as fast", "runs", "firing rates")
    table, left_out = _table(title, *headings), []
    for key, name in (("celif", "celif"), ("busy", "celif, as busy as a trained one")):
        ours = result[key]
        count = str(len(ours["seconds"]))
        table.add_row(name, f"{ours['median_seconds']:.3f}", "", count, _rates(ours))
    for found in result["peers"].values():
        if "not_run" in found:
            left_out.append(f"{found['name']}: not run: {found['not_run']}")
            continue
        size = "" if found["spiking"] else f", {found['parameters']:,} parameters"
        times = (f"{found['median_seconds']:.3f}", f"{found['times_as_fast']:.1f}")
        count = str(len(found["seconds"]))
        table.add_row(found["name"] + size, *times, count, _rates(found) or "no spikes")
    console.print(table)
    for line in left_out:
        console.print(line)
    targets = {
        "alif": ("SLAYER ALIF", training_step.ALIF_TARGET),
        "peers": (
            f"the fastest spiking peer, {result['peers'][result['fastest_peer']]['name']}",
            training_step.PEER_TARGET,
        ),
    }
    for key, (name, target) in targets.items():
        if f"times_as_fast_as_{key}" in result:
            console.print(
                f"{result[f'times_as_fast_as_{key}']:.1f} times as fast as {name} "
                f"(target ≥ {target:g}; of the fastest: "
                f"{result[f'fastest_times_as_fast_as_{key}']:.1f})  "
                f"{verdict(result['passed'][key], judged)}"
            )


def show_memory(result: dict[str, Any]) -> None:
    """Peak memory of training steps."""
    for name, found in result.items():
        if isinstance(found, str):
            console.print(f"peak memory of {name}: {found}")
            continue
        console.print(
            f"peak memory of a step of {name}, batch {found['batch']}: "
            f"{found['peak_mb'] - found['before_mb']:,.0f} MB above "
            f"the {found['before_mb']:,.0f} MB of the process"
        )


def show_deployment(result: dict[str, Any], judged: bool) -> None:
    """Twin and Lava."""
    twin, lava = result["twin"], result["lava"]
    rates = " ".join(f"{rate:.1%}" for rate in twin["firing_rates"])
    console.print(
        f"twin: {twin['samples_per_second']:,.0f} samples/s over {twin['samples']} samples "
        f"(firing rates {rates})"
    )
    if isinstance(lava, str):
        console.print(f"Lava, fixed point: {lava}")
        return
    console.print(
        f"Lava, fixed point: {lava['samples_per_second']:.3f} samples/s, "
        f"{lava['seconds_per_step'] * 1e3:.2f} ms a step, "
        f"{lava['start_and_stop_seconds']:.1f} s to start and stop; same file, equal logits; "
        f"the twin is {result['times_as_fast_as_lava']:,.0f} times as fast "
        f"(target ≥ {deployment.TARGET:,})  {verdict(result['passed']['twin'], judged)}"
    )


def show_growth(result: dict[str, Any] | str) -> None:
    """The twin's time and memory along every axis."""
    if isinstance(result, str):
        console.print(f"growth of the twin: {result}")
        return
    headings = ("", "steps", "width", "batch", "ms a sample", "ns a neuron and step", "MB")
    table = _table(
        "The twin: how time and memory grow, 64 neurons and two layers of a width", *headings
    )
    for axis, points in result.items():
        for point in [points] if axis == "many" else points:
            sample = point["seconds"] / point["batch"]
            neurons = (64 + 2 * point["width"]) * point["steps"]
            table.add_row(
                axis, f"{point['steps']:,}", f"{point['width']:,}", f"{point['batch']:,}",
                f"{sample * 1e3:.3f}", f"{sample / neurons * 1e9:.2f}",
                f"{point['memory_mb']:,.0f}",
            )  # fmt: skip
        table.add_section()
    console.print(table)
    many = result["many"]
    console.print(f"{many['batch']:,} samples in {many['seconds']:.1f} s")


def show_lava_step(result: dict[str, Any] | str, judged: bool) -> None:
    """CE-LIF and LIF in Lava."""
    if isinstance(result, str):
        console.print(f"a step of CE-LIF in Lava: {result}")
        return
    rates = {
        name: " ".join(f"{rate:.0%}" for rate in each)
        for name, each in result["firing_rates"].items()
    }
    console.print(
        f"a step in Lava, four layers of one kind: CE-LIF "
        f"{result['celif_seconds_a_step'] * 1e3:.2f} ms (firing rates {rates['celif']}), stock LIF "
        f"{result['lif_seconds_a_step'] * 1e3:.2f} ms ({rates['lif']}), "
        f"{result['times_lif']:.2f} times as long "
        f"(target ≤ {lava_step.TARGET:g}; of the processors' time: "
        f"{result['work_times_lif']:.2f})  {verdict(result['passed'], judged)}"
    )


def show_inline_step(result: dict[str, Any] | str, judged: bool) -> None:
    """Lava in one process and in its own runtime."""
    if isinstance(result, str):
        console.print(f"Lava in one process: {result}")
        return
    seconds, times, passed = result["seconds"], result["times_as_fast"], result["passed"]
    for what, target in (
        ("step", inline_step.STEP_TARGET),
        ("start", inline_step.START_TARGET),
    ):
        console.print(
            f"Lava in one process, {inline_step.MODEL.name}, a {what}: "
            f"{seconds[f'inline {what}'] * 1e3:.2f} ms, in Lava's own runtime "
            f"{seconds[f'lava {what}'] * 1e3:.2f} ms, {times[what]:.1f} times as fast "
            f"(target ≥ {target:g}); equal logits  {verdict(passed[f'inline {what}'], judged)}"
        )
    console.print(f"a step's time of all processors: {times['work']:.1f} times less")
