"""The staff site at /ops/: the state and the settings of the site, moderation of accounts, dead letters.

Only staff can read it (requests.py). All reads are bounded. Each action is first written to the audit log.
"""
