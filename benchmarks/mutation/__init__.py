"""``make mutants``: small mistakes are put into the sources, and the tests must notice them."""
