"""Redis patterns for any application: job queue, rate limit, lock, buffer, time series, pub/sub listener."""
