"""Random networks for a billion neuron steps."""
