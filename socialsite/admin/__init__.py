"""The operator's side of the site, /ops/: what happens, what is wrong, and what staff can do about it.

Read by staff alone (access.py), about the whole site, with bounded reads. Whatever staff changes here goes
into the audit trail first (trail.py).
"""
