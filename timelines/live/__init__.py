"""Live updates: messages between processes, and the websockets of one web process."""
