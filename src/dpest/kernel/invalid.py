"""The one way in which the kernel says no."""

from __future__ import annotations


class Invalid(Exception):
    """The certificate is malformed, or does not show what it says. The text gives the reason."""


def need(holds: bool, reason: str) -> None:
    """Refuse the certificate for this reason unless `holds`."""
    if not holds:
        raise Invalid(reason)
