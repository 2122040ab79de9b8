"""What staff reads: the facts of /ops/ as JSON, and as the dicts that its templates take.

JSON: times as everywhere on this site, durations in ms, sizes in bytes; null where a server did not answer.
"""
