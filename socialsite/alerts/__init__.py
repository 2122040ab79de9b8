"""Messages to operators: faults of the servers and processes, and a daily summary."""
