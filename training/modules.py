"""CE-LIF neurons as a module of their own, for networks of torch's layers."""

from __future__ import annotations

from training.slayer.neuron import Neuron


class CELIF(Neuron):
    """A layer of CE-LIF neurons, without synapses.

    It takes currents (batch, neuron, time), or (batch, channel, row, column, time), and returns
    spikes of the same shape. With it, a network of ``nn.Linear``, ``nn.Conv2d`` and other modules
    of torch can be exported as its forward pass computes it::

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.synapses = nn.Linear(6, 16)
                self.neurons = CELIF(16, steps=100)

            def forward(self, x):  # (batch, channel, time)
                return self.neurons(self.synapses(x.transpose(1, 2)).transpose(1, 2))

    Parameters
    ----------
    neurons, steps, alpha, beta, learn_alpha, learn_beta, theta0, width, te, bias, backend
        As in :class:`training.slayer.neuron.Neuron`: the number of neurons or channels, the longest
        sequence, the decays (one number or one per neuron) and whether they are learnt, the other
        constants of the neuron, the kind of temporal encoding, whether the neurons have learnable
        biases.
    """
