"""What operators are told: faults of the servers and processes, and a daily summary."""
