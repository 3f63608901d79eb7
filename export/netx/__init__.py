"""The netx file: writing it, reading it, and refusing what is damaged.

``export/FORMAT.md`` specifies every dataset.
"""
