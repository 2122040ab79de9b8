"""Measurements of the site against its budgets: `make bench`, or a single one: `python -m benchmarks B1`.

Each benchmark measures its reference and the product in turn, in the same run: the result is the ratio, because
the speed of the machine varies. Servers are real, listen on loopback, and are started and stopped by the benchmark.
"""
