"""The settings of the site that staff can change while it runs. The operator's environment wins."""
