"""The subcommands of ``celif``, a module for each stage of the path."""
