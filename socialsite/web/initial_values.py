"""Hidden copies of the values that a form showed, so that an old page does not undo a later change."""

from typing import Any

from django import forms


class HiddenCopy(forms.HiddenInput):
    """A hidden input without ARIA attributes, which HTML forbids there. Django adds the field's own."""

    def build_attrs(self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None) -> dict[str, Any]:
        attrs = super().build_attrs(base_attrs, extra_attrs)
        return {name: value for name, value in attrs.items() if not name.startswith("aria-")}


def add_hidden_copy(field: forms.Field) -> None:
    field.show_hidden_initial, field.hidden_widget = True, HiddenCopy
