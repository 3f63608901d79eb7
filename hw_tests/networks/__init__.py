"""Networks for tests and benchmarks: random ones, named cases, one of every kind of layer."""
