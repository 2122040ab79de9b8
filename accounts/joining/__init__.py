"""Who may join: modes of sign-up, applications for an account, invitations."""
