"""The websockets of one web process, and the live updates that it sends them."""
