"""Other frameworks: their speed, and lava-dl's own tests on our Network."""
