"""`manage.py quickstart` runs the whole site on one machine, supervised by one process.

bootstrap.py      before Django's settings are read: data directory, secret key, environment
supervisor.py     starts the embedded server, the worker and the web server, restarts them, and stops them in order
child_process.py  entry point of a child process, which ends when the supervisor ends
"""
