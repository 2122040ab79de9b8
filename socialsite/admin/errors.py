"""Errors of the staff site."""

from django.utils.translation import gettext_lazy as _

from socialsite.errors import Conflict, Forbidden


class CannotModerateSelf(Conflict):
    code = "own_account"
    message = _("You cannot do this to your own account. Ask another staff member.")


class MissingRight(Forbidden):
    code = "missing_right"
    message = _("Your role does not include this. An owner of the site can change your role.")


class FactorRequired(Forbidden):
    code = "factor_required"
    message = _("The pages of staff need a second factor. Please set one up first.")


class CannotUndo(Conflict):
    code = "no_undo"
    message = _("This decision cannot be undone.")


class NotSuspended(Conflict):
    code = "not_suspended"
    message = _("Only a suspended account can be deleted. Please suspend it first.")


class AppealDecided(Conflict):
    """The sanction has no appeal, or another staff member has decided it."""

    code = "decided"
    message = _("Another staff member has decided this appeal already.")


class AppealOfOwnDecision(Forbidden):
    """The staff member who acted decides the appeal only if no other staff member can."""

    message = _("You made this decision. Another staff member decides the appeal.")


class CannotModerateStaff(Forbidden):
    message = _("You cannot do this to staff of your own role or of a higher one.")
