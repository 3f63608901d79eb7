"""``make mutants``: put small mistakes into the sources, and count those that tests notice.

A seed draws a sample of each group's mutants. A first run without mistakes finds which tests call
which functions; each mutant then meets the tests that call its function, those that noticed
another mutant there first, then the quick ones. What was found is kept in ``.cache/mutation``, so
that an interrupted run goes on where it was: that a mutant was noticed holds until its file or the
test changes, and that it was not, until its file or any test of its group changes.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.mutation import server
from benchmarks.mutation.groups import GROUPS, ROOT, SourceGroup, excused
from benchmarks.mutation.operators import Mutant, mutants

RECORD = ROOT / "docs" / "reliability" / "mutants.json"
CACHE = ROOT / ".cache" / "mutation"
QUICK = 4.0
"""Processor time of the tests that a mutant meets first; most end there."""
EACH = 300.0
"""Seconds after which a test is given up, and not used."""
UNSEEN, KILLED, TIMEOUT, UNCALLED = "survived", "killed", "timeout", "no test calls it"


def _compiles(path: str) -> bool:
    """Whether numba compiles functions of a file; its mutants run as plain Python."""
    return "@compiled." in (ROOT / path).read_text(encoding="utf-8")


class Tests:
    """The tests of a group: what each takes, and which functions it calls."""

    def __init__(self, group: SourceGroup, compiled: bool) -> None:
        self.compiled, self.group = compiled, group
        files = [path for path in group.files() if _compiles(path) is not compiled]
        cache = CACHE / f"tests-{compiled}-{_hash(*files, *group.tests)}.json"
        if cache.exists():
            told = json.loads(cache.read_text())
        else:
            ran = server.run(group.tests, compiled=compiled, seconds=1200, traced=files, each=EACH)
            told = {"passed": ran.passed, "called": ran.called}
            _keep(cache, told)
        self.seconds: dict[str, float] = told["passed"]
        self.called: dict[str, list[str]] = told["called"]
        self.noticed: Counter[tuple[str, str]] = Counter()

    def of(self, mutant: Mutant) -> list[str]:
        """Tests that call the mutant's function: those that noticed another, then the quick.

        Every test may notice another constant of a file; those that call its functions come first.
        """
        first, last = mutant.span
        path = str(ROOT / mutant.path)
        found = []
        for test, calls in self.called.items():
            lines = (call.rsplit(":", 1) for call in calls)
            if any(file == path and first <= int(line) <= last for file, line in lines):
                found.append(test)
        key, near = mutant.path + mutant.function, set(found)
        if not mutant.function:  # a constant, which may be used by other files
            found = list(self.seconds)

        def rank(test: str) -> tuple[int, bool, float]:
            return -self.noticed[key, test], test not in near, self.seconds[test]

        return sorted(found, key=rank)

    def judge(self, mutant: Mutant) -> dict[str, Any]:
        """Run the tests of a mutant until one notices it."""
        verdict = self._judge(mutant)
        test = verdict.get("by", "").split("::")[0].split(" ")[0]
        watched = [test] if (ROOT / test).is_file() else self.group.tests
        told = {"line": mutant.line, "files": [mutant.path, *watched]}
        return {**verdict, **told, "state": _hash(mutant.path, *watched)}

    def _judge(self, mutant: Mutant) -> dict[str, Any]:
        order = self.of(mutant)
        if not order:
            return {"verdict": UNCALLED}
        quick: list[str] = []
        total = 0.0
        for test in order:
            total += self.seconds[test]
            if quick and total > QUICK:
                break
            quick.append(test)
        for part in (quick, order[len(quick) :]):
            if not part:
                continue
            limit = 15 + 4 * sum(self.seconds[test] for test in part)
            files = sorted({test.split("::")[0] for test in part})
            ran = server.run(files, part, mutant, self.compiled, limit)
            if ran.timeout:
                return {"verdict": TIMEOUT}
            if ran.failed:
                self.noticed[mutant.path + mutant.function, ran.failed] += 1
                return {"verdict": KILLED, "by": ran.failed}
        return {"verdict": UNSEEN, "tests": len(order)}


def _hash(*places: str) -> str:
    """Hash files, and all Python files of folders, with their names."""
    digest = hashlib.sha256()
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _holds(verdict: dict[str, Any] | None) -> bool:
    """Whether a verdict of an earlier run still holds."""
    if verdict is None or not all((ROOT / place).exists() for place in verdict["files"]):
        return False
    return verdict["state"] == _hash(*verdict["files"])


def _keep(path: Path, told: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(told, indent=1, ensure_ascii=False))
    draft.replace(path)


def drawn(group: SourceGroup, name: str, count: int, seed: int) -> tuple[list[Mutant], int]:
    """The sample of a group, in random order, and how many mutants there are in all."""
    every = [mutant for path in group.files() for mutant in mutants(ROOT, path)]
    known = {mutant.name: mutant for mutant in every}
    missing = [wanted for wanted in group.named if wanted not in known]
    if missing:
        raise ValueError(f"{name}: expected these mutants, found none of that name: {missing}")
    sample = random.Random(f"{seed} {name}").sample(every, min(count, len(every)))
    chosen = {mutant.name: mutant for mutant in sample}
    return [*chosen.values(), *(known[n] for n in group.named if n not in chosen)], len(every)


def interval(killed: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, killed / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = share * (1 - share) / total + z * z / (4 * total * total)
    half = z / (1 + z * z / total) * math.sqrt(spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def judge_group(name: str, count: int, seed: int, until: float) -> dict[str, Any]:
    """Judge the sample of a group; what an earlier run found is taken over."""
    group = GROUPS[name]
    sample, total = drawn(group, name, count, seed)
    cache = CACHE / f"verdicts-{name}.json"
    verdicts = json.loads(cache.read_text()) if cache.exists() else {}
    tests: dict[bool, Tests] = {}
    for mutant in sample:
        if _holds(verdicts.get(mutant.name)) or time.monotonic() > until:
            continue
        compiled = not _compiles(mutant.path)
        if compiled not in tests:
            tests[compiled] = Tests(group, compiled)
        verdict = tests[compiled].judge(mutant)
        verdicts[mutant.name] = verdict
        _keep(cache, verdicts)
        sys.stderr.write(f"{verdict['verdict']:>16} {mutant.name}\n")
    found = {m.name: verdicts[m.name] for m in sample if _holds(verdicts.get(m.name))}
    return {"mutants": total, "sample": found, "named": list(group.named)}


def summary(groups: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Counts of each group, and the survivors with their reasons."""
    reasons = excused()
    rows: dict[str, Any] = {}
    survivors: list[dict[str, str]] = []
    for name, found in groups.items():
        verdicts: Counter[str] = Counter()
        for mutant, verdict in found["sample"].items():
            outcome = verdict["verdict"]
            if outcome in (UNSEEN, UNCALLED):
                reason = reasons.get(mutant, "")
                equivalent = reason.startswith("equivalent")
                outcome = "equivalent" if equivalent else UNSEEN
                reason = reason or ("not tested" if verdict["verdict"] == UNSEEN else UNCALLED)
                survivors.append({"mutant": mutant, "reason": reason})
            verdicts[outcome] += 1
        counted = sum(verdicts.values()) - verdicts["equivalent"]
        caught = verdicts[KILLED] + verdicts[TIMEOUT]
        low, high = interval(caught, counted)
        rows[name] = {
            "mutants": found["mutants"], "sample": len(found["sample"]),
            KILLED: verdicts[KILLED], TIMEOUT: verdicts[TIMEOUT],
            "equivalent": verdicts["equivalent"], UNSEEN: verdicts[UNSEEN],
            "share": caught / counted if counted else 1.0, "interval": [low, high],
        }  # fmt: skip
    return rows, survivors


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Groups; all by default.")] = None,
    sample: Annotated[int, typer.Option(help="Mutants of each group.")] = 60,
    everything: Annotated[bool, typer.Option("--all", help="Every mutant there is.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    seconds: Annotated[float, typer.Option(help="Begin no mutant after this time.")] = 7200.0,
    record: Annotated[Path, typer.Option(help="Where the counts are written.")] = RECORD,
    update: Annotated[bool, typer.Option("--update", help="Record single groups, too.")] = False,
) -> None:
    """Judge a sample of mutants; exit with 1 if fewer than 90 % of them are noticed."""
    server.preload()
    until = time.monotonic() + seconds
    count = 10**9 if everything else sample
    found = {name: judge_group(name, count, seed, until) for name in names or GROUPS}
    rows, survivors = summary(found)
    _report(rows, survivors)
    caught = sum(row[KILLED] + row[TIMEOUT] for row in rows.values())
    counted = sum(row["sample"] - row["equivalent"] for row in rows.values())
    if update or not names:
        _write(record, rows, survivors, seed)
    raise SystemExit(0 if caught >= 0.9 * counted else 1)


def _report(rows: dict[str, Any], survivors: Sequence[dict[str, str]]) -> None:
    for survivor in survivors:
        sys.stdout.write(f"{survivor['reason']}: {survivor['mutant']}\n")
    for name, row in rows.items():
        low, high = row["interval"]
        sys.stdout.write(
            f"{name:8} {row['sample']:4} of {row['mutants']:5}: {row[KILLED]:4} killed, "
            f"{row[TIMEOUT]:3} timeouts, {row['equivalent']:3} equivalent, {row[UNSEEN]:3} "
            f"survived: {row['share']:.1%} ({low:.1%} to {high:.1%})\n"
        )


def merged(
    former: dict[str, Any], rows: dict[str, Any], survivors: Sequence[dict[str, str]]
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Rows and survivors of a former record, with those of the groups that ran in their place."""
    kept = {name: row for name, row in former.get("groups", {}).items() if name not in rows}
    about = {key: former["machine"][key] for key in ("commit", "date")} if kept else {}
    files = {file for name in kept for file in GROUPS[name].files()}
    stay = [each for each in former.get("survivors", ()) if each["mutant"].split(" ")[0] in files]
    every = {**{name: {**about, **row} for name, row in kept.items()}, **rows}
    return {name: every[name] for name in GROUPS if name in every}, [*stay, *survivors]


def _write(
    record: Path, rows: dict[str, Any], survivors: Sequence[dict[str, str]], seed: int
) -> None:
    # Imported once no more mutants are to come, which must be the first to import the project.
    from benchmarks import provenance
    from training.support.atomic import atomic_file

    machine = provenance.describe()
    ran = {
        name: {**row, **{k: machine[k] for k in ("commit", "date")}} for name, row in rows.items()
    }
    former = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    rows, survivors = merged(former, ran, survivors)
    caught = sum(row[KILLED] + row[TIMEOUT] for row in rows.values())
    counted = sum(row["sample"] - row["equivalent"] for row in rows.values())
    told = {
        "groups": rows,
        "noticed": caught,
        "counted": counted,
        "interval": interval(caught, counted),
        "survivors": list(survivors),
        "seed": seed,
        "machine": machine,
    }
    with atomic_file(record) as draft:
        draft.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
