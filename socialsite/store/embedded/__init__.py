"""A Redis server as a child process of the site."""
