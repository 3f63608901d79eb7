"""Slower studies: accuracy by bits, exponent rules, forms of TE, the certificate."""
