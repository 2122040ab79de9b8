"""The data of /ops/ as JSON and as template contexts.

In JSON, times are ISO 8601, durations in ms, sizes in bytes; null means that a server did not answer.
"""
