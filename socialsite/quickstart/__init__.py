"""`manage.py quickstart` runs the whole site on one machine, supervised by one process.

bootstrap.py      prepares data directory, secret key and environment before Django's settings are read
supervisor.py     starts the embedded server, the worker and the web server, restarts them, and stops them in order
child_process.py  runs a child process, which ends when the supervisor ends
"""
