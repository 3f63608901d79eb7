"""The page of all results, made of the records that runs left.

Records and figures are first copied into a folder next to the page that has the page's name, so
that the page can be made again wherever the repository is, without the runs. The page opens with
the table of :mod:`celif.experiments.machinery.results_summary`, then has a section for each
experiment. An experiment that has only a quick size is shown in that; all other quick sizes share a
table in the appendix.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from celif.experiments import catalogue
from celif.experiments.machinery import results_summary
from celif.experiments.machinery.items import ITEMS
from celif.experiments.machinery.record import PNG, RESULT, duration, number, with_unit
from training.support.atomic import atomic_file

_INTRODUCTION = """# The paper's experiments

What the CE-LIF paper (arXiv 2308.15150) shows, and what this project measured.

In short:

- Feedforward CE-LIF reaches the paper's accuracies with 83,562 parameters on both tasks (98.22 and
  97.94 % over three seeds, the paper 98.19 and 97.90), and with 153,962 on PS-MNIST (98.17 %, the
  paper 98.14). On Seq-MNIST the larger network reaches 98.49 %, 0.35 points less than the paper;
  trained with a teacher and adversarial inputs it reaches 98.77 %. The larger networks came after
  earlier ones had been measured on the test set.
- Recurrent CE-LIF is not better than feedforward CE-LIF here. With 158,386 parameters it is 0.24
  and 0.30 points below the paper. With 181,378 it is 0.09 above it on PS-MNIST, and on Seq-MNIST
  0.58 below from fresh weights, 0.21 below when it begins as a trained feedforward network.
- By recipes of our own CE-LIF solves copy memory at all of the paper's lengths, and the adding
  problem where outputs are averaged over all steps, which needs no memory. Read at the last step,
  its loss in the adding problem comes to 0.0086 and 0.0107 at T = 100 and 200, and LSTM's below
  0.0003; longer sequences were not tried so. By the same few trials that SoftALIF and LSTM had,
  CE-LIF solves neither task, and LSTM is better at the adding problem at all lengths, also at those
  at which the paper's LSTM fails.
- V⊙TE is the best of the six contexts of the threshold, and S⊙TE the second best, on both tasks.
  Trained for ten epochs, each by the best of six short trials, all six are in the paper's order on
  both tasks, except TE and V+TE, which the paper has 0.2 points apart and we have the other way
  round. V⊙TE and S⊙TE come within five points of the paper's accuracies; S, V, TE and V+TE stay 16
  to 54 points below them.
- Of the rivals that the paper trained (LIF, LTMD, PLIF, GLIF) we have two epochs, which neither
  confirms nor contradicts the paper's numbers.
- Not in the paper: with 8-bit weights and TE and integer states the four networks of `models/` are
  right for 98.30 and 98.76 % of the test samples of Seq-MNIST (83,562 and 153,962 parameters) and
  for 98.01 and 98.45 % of PS-MNIST's, in float for 98.19, 98.77, 98.04 and 98.43 %.

What a status means, and what holds for all numbers, is said [below](#how-to-read-the-table).
"""

_READING = """
## How to read the table

- **Reproduced**: with the paper's networks and task, and an accuracy at most 0.3 points below the
  paper's, a loss below our limit (0.01 for the adding problem, a tenth of the baseline for
  copy memory; the paper shows curves only), an energy within 10 %, or, where the paper shows a
  picture, all statements that are tested in the section.
- **Partly**: at the paper's size, but short of that, stopped early, or reached by means that the
  paper did not or may not have used (a teacher, inputs that are shifted or adversarial, outputs
  that may be read otherwise, another surrogate, an optimiser that treats TE in a way of its own),
  or after a second look at the test set; the row says which. Rates, schedules and averaged weights
  do not count as such means; they are named below. A second look means that earlier networks were
  measured on the test set, and that their results led to more training. A rival that learns as
  little as in the paper counts as partly at most, because another recipe might make it learn.
- **Not reproduced**: at the paper's size, losses that fall in the paper stay above our limit, or
  one that stays high in the paper falls, where our means may be the reason. **Contradicted**: a
  rival learns more than the paper says, with outputs read as in the paper.
- **Smaller task**: run on a smaller task or network than the paper's. **Fewer epochs**: stopped
  long before the models have learnt. Neither gives numbers to compare.
- **Cited**: the paper took the number from elsewhere. **Not run**: we have no number.
  **Measured**: not in the paper.

Each section lists statements that are tested against its numbers, as "Holds" or "Does not hold". We
wrote them after the paper's text and figures; the limits in them are ours.

Unless a section says otherwise, α = 0.5, β = 0.99, Θ0 = 0.3, the surrogate's gradient is 1 where
|V − Θ| < 0.2 and 0 elsewhere, TE begins as numbers drawn from N(0.01, 0.01), and the optimiser is
AdamW. One table of TE for all layers gives the paper's numbers of parameters. PS-MNIST shows the
pixels in one random order, the same for all images; the paper's order is not known.

An accuracy is that of one run unless it has a spread. On 10,000 test images its standard error is
0.14 points at 98 % and 0.5 at 50 %; the spread over seeds was measured for the digits and for the
smaller network. Rows trained here are measured after their last epoch, the networks of
`models/` at their best epoch on validation data.

The training recipes are ours unless a section says otherwise, even where an item is called
reproduced: rates, schedules, batches, dropout, clipping and the number of epochs differ from the
paper's, and so do the biases of CE-LIF, which start at zero, and the rate of TE in the adding
problem and copy memory. The recipe of Seq- and PS-MNIST goes back to a prototype whose curves were
watched on the test set. Copy memory also has a surrogate twice as wide and, at T = 400 and 500, an
update of TE by rows: the mean over time is subtracted from the gradient of each neuron's TE, and
AdamW keeps one second moment for each neuron in place of one for each entry. The adding problem is
read from the mean of the outputs over all steps unless a row says otherwise; that mean adds up by
itself, so that no memory is needed, and the paper may read otherwise. Recipes of the runs are in
the records, those of the stored networks in `models/README.md`.

Costs are hours of one core of the AMD EPYC on which most runs were made. The first recurrent
network that begins as a feedforward one was trained on an Intel Xeon at 2.5 GHz, where training
steps take two to three times as long. "Did not converge" is what the paper's table prints as a
dash. ALIF is that of the paper's equation 3, SoftALIF the neuron that Yin et al. published, which
the paper's table cites. "CE-LIF tuned as the others" has the same six trials as SoftALIF and LSTM,
and their steps and batches.

`celif reproduce NAME` prints a record and trains only the runs that it lacks; `celif reproduce
--page docs/results.md` makes this page from the records in `docs/results/`. They hold the numbers
and, at full size, the training runs with recipe and commit.
"""

SHOWN = 7
"""Numbers of a quick size that the appendix shows."""
_APPENDIX = """# Appendix: quick sizes

`celif reproduce NAME --quick` runs these in a minute or two, on small networks and tasks. They show
effects, not the paper's numbers.

| command | numbers | claims | cost and commit |
|---|---|---|---|"""


_TRIALS = """# Appendix: trials

What was tried before the recipes above were chosen, as far as it was noted. Trials that all models
have alike are runs in the records. Of those of CE-LIF's own recipe only the losses were kept, and
of some 35 that came first, for copy memory at T = 30 and 100, nothing.
"""


def write(page: Path, roots: Iterable[Path] = ()) -> None:
    """Gather the records below ``roots``, then write ``page``."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for root in roots:
        for path in sorted(root.glob(f"*/{RESULT}")):
            record = json.loads(path.read_text(encoding="utf-8"))
            shutil.copyfile(path, folder / f"{_stem(record)}.json")
            shutil.copyfile(path.with_name(PNG), folder / f"{_stem(record)}.png")
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    order = list(catalogue.EXPERIMENTS)
    known = [record for record in found if record["name"] in order]
    known.sort(key=lambda record: order.index(record["name"]))
    records = {(record["name"], record["quick"]): record for record in known}
    parts = [_INTRODUCTION, *results_summary.table(ITEMS, records), _READING]
    shown = [
        record for record in known if not (record["quick"] and (record["name"], False) in records)
    ]
    parts += [_section(record, folder.name) for record in shown]
    rest = [record for record in known if record not in shown]
    parts += [_APPENDIX, *(_appendix_row(each, folder.name) for each in rest), ""] if rest else []
    parts += _trials(shown)
    for record in rest:  # the table in the appendix has no figures
        (folder / f"{_stem(record)}.png").unlink(missing_ok=True)
    with atomic_file(page) as draft:
        draft.write_text("\n".join(parts), encoding="utf-8")


def _stem(record: dict[str, Any]) -> str:
    return record["name"] + ("-quick" if record["quick"] else "")


def _paper(row: dict[str, Any]) -> str:
    """The paper's number, or what it prints in place of one."""
    return row.get("paper_says") or number(row["paper"])


def _section(record: dict[str, Any], folder: str) -> str:
    experiment = catalogue.get(record["name"])
    size = "a smaller task" if record["quick"] else experiment.size
    item = f"{experiment.item}: " if experiment.item else ""
    lines = [f"## {item}{record['title']}", "", f"    {record['command']}", ""]
    lines += [experiment.about, ""] if experiment.about else []
    ran = [row for row in record["rows"] if row["ours"] is not None]
    lines += [*_table(ran), ""]
    missing = [row for row in record["rows"] if row["ours"] is None and not row.get("cited")]
    if missing:
        count = len(ran) + len(missing)
        lines.append(f"- Not run: {len(missing)} of {count} rows; what they cost is in the table "
                     "at the top.")  # fmt: skip
    lines += [f"- {_said(claim)}" for claim in record["claims"]]
    lines += [f"- {note}" for note in record["notes"]]
    if record.get("trials"):
        lines.append("- What was tried before these recipes were chosen is in the last appendix.")
    lines.append(f"- Size: {size}. {record['budget']}; {_made(record)}.")
    lines += ["", f"![{record['title']}]({folder}/{_stem(record)}.png)", ""]
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows, with a column for the paper's numbers and one for notes if there are any."""
    paper = any(_paper(row) != "–" for row in rows)
    differs = any(row["difference"] is not None for row in rows)
    notes = any(row["note"] for row in rows)
    heads = ["", "ours", *["paper"] * paper, *["difference"] * differs, *[""] * notes]
    lines = [f"| {' | '.join(heads)} |".replace("|  |", "| |"), "|---" * len(heads) + "|"]
    for row in rows:
        cells = [row["what"], with_unit(row)]
        cells += [_paper(row)] if paper else []
        cells += [number(row["difference"], signed=True)] if differs else []
        cells += [row["note"]] if notes else []
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _said(claim: dict[str, Any]) -> str:
    return f"{'Holds' if claim['holds'] else '**Does not hold**'}: {claim['text']}."


def _made(record: dict[str, Any]) -> str:
    """What a record cost, when it was made, and by which commits."""
    machine = record["machine"]
    commits = {run["commit"] for run in record.get("runs", {}).values() if run["commit"]}
    commits -= {machine["commit"]}
    trained = f", networks trained at {', '.join(sorted(commits))}" if commits else ""
    return f"{duration(record)}, {machine['date'][:10]}, commit {machine['commit']}{trained}"


def _trials(records: list[dict[str, Any]]) -> list[str]:
    """The appendix of what was tried, if anything was."""
    tried = [record for record in records if record.get("trials")]
    lines = [_TRIALS] if tried else []
    for record in tried:
        lines += [f"## {record['title']}: trials", ""]
        lines += [*(f"- {trial}" for trial in record["trials"]), ""]
    return lines


def _appendix_row(record: dict[str, Any], folder: str) -> str:
    ran = [row for row in record["rows"] if row["ours"] is not None]
    numbers = "; ".join(f"{row['what']} {with_unit(row)}" for row in ran[:SHOWN])
    numbers += f"; and {len(ran) - SHOWN} more" if len(ran) > SHOWN else ""
    missed = [_said(claim) for claim in record["claims"] if not claim["holds"]]
    held = len(record["claims"]) - len(missed)
    counted = f"{held} of {len(record['claims'])} hold." if record["claims"] else "None."
    claims = " ".join([counted, *missed])
    file = f"[record]({folder}/{_stem(record)}.json)"
    return f"| `{record['command']}` | {numbers} ({file}) | {claims} | {_made(record)} |"
