"""`manage.py quickstart` runs the whole site on one machine, supervised by one process.

bootstrap.py        prepares data directory, secret key and environment before Django's settings are read
site.py             the supervisor of one data directory: the start, its messages, and the end
supervisor.py       starts processes, restarts them, and stops them in order
process_factory.py  loads the site once, and forks the worker and the web server
server_pool.py      several web processes of one unit of systemd, with the same factory
child_process.py    runs a child process, which ends when the supervisor ends
"""
