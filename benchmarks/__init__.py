"""Measurements of the site against its budgets: `make bench`, or one alone: `python -m benchmarks.b1_fanout`.

Each measures its reference beside the product, in the same run, in turn: what counts is the ratio, because
the machine's own speed moves. Servers are real, on loopback, started here and stopped by their process ids.
"""
