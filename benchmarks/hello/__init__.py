"""The reference of the web benchmarks: as little as a Django site can be, made of stock parts only."""
