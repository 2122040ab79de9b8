"""Data of the demo (posts, accounts, follows) and the script that made it; see NOTICE."""
