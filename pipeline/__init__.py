"""The user's door: the ``celif`` command, ``verify`` and the report."""

from pipeline.siblings import check_siblings

check_siblings()

from pipeline.verify import Verification, verify  # noqa: E402  (after the check, on purpose)

__all__ = ["Verification", "verify"]
