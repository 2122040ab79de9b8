"""Redis patterns that know no application: job queue, rate limit, lock, buffer, time series, pub/sub listener."""
