"""Utilities of every room: atomic writing, facts about the machine, checks of arguments."""
