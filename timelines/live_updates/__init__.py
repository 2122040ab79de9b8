"""Live updates that other features publish: messages between the processes of the site."""
