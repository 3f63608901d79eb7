"""The text of the results page: its introduction, and how to read it."""

from __future__ import annotations

INTRODUCTION = """# The paper's experiments

What the CE-LIF paper (arXiv 2308.15150) shows, and what this project measured.

- **Accuracy.** Feedforward CE-LIF with 83,562 parameters matches the paper on Seq- and PS-MNIST:
  98.22 and 97.94 % over three seeds (paper: 98.19, 97.90). With 153,962 parameters it matches on
  PS-MNIST (98.17; 98.14) and is 0.35 points short on Seq-MNIST (98.49; 98.84); with a teacher and
  adversarial inputs it reaches 98.77. These larger networks are one seed each, after earlier ones
  had been scored on the test set. The recipe of all sizes comes from a prototype whose test curves
  were watched.
- **Recurrence** brings no visible gain here, with one seed and recipes that differ. With 158,386
  parameters it ends 0.30 points below the paper on Seq-MNIST and 0.24 on PS-MNIST. With 181,378 and
  adversarial inputs it ends 0.58 below and 0.09 above; initialised from a feedforward network, 0.21
  below on Seq-MNIST.
- **Long memory.** With recipes of our own CE-LIF solves copy memory at every length of the paper,
  and the adding problem where outputs are averaged over time, a reading that needs no memory. Read
  so, LSTM has a lower loss than CE-LIF at every length, also where the paper's LSTM fails. Read at
  the last step (T = 100 and 200 only) CE-LIF reaches 0.0086 and 0.0107, LSTM less than 0.0003. With
  the same six trials as its rivals CE-LIF solves neither task, although it is ahead of them on copy
  memory at T = 100 and 200.
- **Contexts.** V⊙TE is the best of the six and S⊙TE the second best on both tasks. On PS-MNIST all
  six are in the paper's order; on Seq-MNIST, too, except TE and V+TE, which the paper has 0.2
  points apart. With AdamW's steps taken in sums of TE instead of its entries, which is not the
  paper's way, TE and V+TE come to 93.93 and 92.36 % on Seq-MNIST (paper: 95.36, 95.55) and to 92.62
  and 90.17 % on PS-MNIST (90.19, 89.97). S⊙TE (94.53, 94.45) and V⊙TE (98.08, 97.70) stay 0.4 to
  4.1 points below the paper, V 24 and 40. S stays near chance: most of its gradients are not
  finite.
- **Rivals** of the paper's own runs (LIF, LTMD, PLIF, GLIF) were trained for two epochs only, which
  neither confirms nor contradicts the paper.
- **Beyond the paper.** With 8-bit weights and TE and integer states the four networks of `models/`
  lose at most 0.03 points: 98.30 and 98.76 % on Seq-MNIST (83,562 and 153,962 parameters) and 98.01
  and 98.45 % on PS-MNIST, in float 98.19, 98.77, 98.04 and 98.43 %, by `celif evaluate`
  ([models](../models/README.md)).

Each row leads to its section. The statuses and general caveats are explained
[below](#how-to-read-the-table). Core-hours are those of the whole section.
"""

CITED = """
The paper took these numbers from elsewhere (Seq-MNIST / PS-MNIST, %), and they were not run: {}.
"""

NOT_RUN = """## Not run, and what it would take"""

READING = """
## How to read the table

- **Reproduced**: with the paper's networks and task, and an accuracy at most 0.3 points below the
  paper's, a loss below our limit (0.01 for the adding problem, a tenth of the baseline for
  copy memory; the paper shows curves only), an energy within 10 %, or, where the paper shows a
  picture, all statements that are tested in the section.
- **Partly**: at the paper's size, but missing that mark, stopped early, or obtained by means that
  the paper did not or may not have used (a teacher, inputs that are shifted or adversarial, outputs
  that may be read otherwise, another surrogate, an optimiser that treats TE in a way of its own),
  or after a second look at the test set; the row or its section says which. Rates, schedules and
  averaged weights do not count as such means; they are named below. A second look means that
  earlier networks were measured on the test set, and that their results led to more training. The
  prototype behind the recipe of Seq- and PS-MNIST does not count as one, although its test curves
  were watched; if it did, every such row would be "partly". A rival that learns as little as in the
  paper counts as partly at most, because another recipe might make it learn.
- **Not reproduced**: at the paper's size, losses that fall in the paper stay above our limit, or
  one that stays high in the paper falls, where our means may be the reason.
- **Smaller**: run on a smaller network or task than the paper's. **Fewer epochs**: stopped long
  before the models have learnt. Neither confirms or contradicts the paper's numbers; at most the
  order of the models is discussed.
- **Measured**: not in the paper.

Each section lists statements that are tested against its numbers, as "Holds" or "Does not hold". We
wrote them after the paper's text and figures; the limits in them are ours.

Unless a section says otherwise, α = 0.5, β = 0.99, Θ0 = 0.3, the surrogate's gradient is 1 where
|V − Θ| < 0.2 and 0 elsewhere, TE begins as numbers drawn from N(0.01, 0.01), and the optimiser is
AdamW. One table of TE for all layers gives the paper's numbers of parameters, and so does feedback
in the first two of three recurrent layers, which is inferred from those numbers. PS-MNIST shows the
pixels in one random order, the same for all images; the paper's order is not known.

Accuracies are from one run unless given with ±. On 10,000 test images the standard error of an
accuracy is 0.14 points at 98 % and 0.5 at 50 %; the spread over seeds was measured for the digits
and for the smaller network. Rows trained here are measured after their last epoch, the networks of
`models/` at their best epoch on validation data.

The training recipes are ours unless a section says otherwise, even where an item is called
reproduced: rates, schedules, batches, dropout, clipping and the number of epochs differ from the
paper's, and so do the biases of CE-LIF, which start at zero, and the rate of TE in the adding
problem and copy memory. Copy memory also has a surrogate twice as wide and, at T = 400 and 500, an
update of TE by rows: the mean over time is subtracted from the gradient of each neuron's TE, and
AdamW keeps one second moment for each neuron in place of one for each entry. Contexts were also
tried with updates of TE's sums, which their section explains. The adding problem is read from the
mean of the outputs over all steps unless a row says otherwise; that mean adds up by itself, so that
no memory is needed, and the paper may read otherwise. Recipes of the runs are in the records, those
of the stored networks in `models/README.md`.

Core-hours are of the AMD EPYC on which most runs were made. The row "begun feedforward" of four
epochs was trained on an Intel Xeon at 2.5 GHz, where training steps take two to three times as
long. "Did not converge" is what the paper's table prints as a dash. ALIF is that of the paper's
equation 3, SoftALIF the neuron that Yin et al. published, which the paper's table cites. "CE-LIF,
equal tuning" has the same six trials as SoftALIF and LSTM, and their steps and batches.

`celif reproduce NAME` prints a record and trains only the runs that it lacks; `celif reproduce
--page docs/results.md` makes this page from the records in `docs/results/`. They hold the numbers
and, at full size, the training runs with recipe and commit, except the network options of CE-LIF's
first two runs of copy memory (a surrogate 0.4 wide, commit e02b637).
"""

QUICK = """# Appendix: quick sizes

`celif reproduce NAME --quick` runs these in a minute or two, on small networks and tasks. They show
effects, not the paper's numbers.

| command | numbers | claims | cost and commit |
|---|---|---|---|"""


TRIALS = """# Appendix: trials

What was tried before the recipes above were chosen, as far as it was noted. Trials that all models
share are runs in the records. Of CE-LIF's own trials only the losses were kept; of the first 35 or
so, for copy memory at T = 30 and 100, nothing was.
"""
