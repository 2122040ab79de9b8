"""The reference of the web benchmarks: a minimal Django site made of stock parts only."""
