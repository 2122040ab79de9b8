"""The demo: its data (see NOTICE) and its loader. tests/support/demo_build.py made the data."""
