"""What the one who runs the site does with the store as a whole: walk it, weigh it, back it up, trim it.

Blind to the application but for the names of its key families (families.py); works on every topology, because
walks go over the nodes and everything else by key.
"""
