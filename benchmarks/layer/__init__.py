"""The reference of the socket benchmarks: Channels over channels_redis's pub/sub layer, as in its manual."""
