"""The user's door: the ``celif`` command, ``verify`` and the report."""

from celif.siblings import check_siblings

check_siblings()

from celif.verification.verify import Verification, verify  # noqa: E402

__all__ = ["Verification", "verify"]
