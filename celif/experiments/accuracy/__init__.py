"""Table 1: accuracies of CE-LIF and of what it is compared with, on Seq-MNIST and PS-MNIST."""
