"""The commands of ``celif``: one module each, named as the command, imported when it is called."""
