"""`manage.py quickstart`: the whole site on one machine, kept running by one process.

preparation.py  before Django's settings are read: data directory, secret key, environment
supervisor.py   starts the parts, starts again what died, stops them in order
parts.py        the embedded server; web and worker as child processes
child.py        what runs in a child: ends it when the supervisor is gone
demo.py         what the first start puts into an empty site
"""
