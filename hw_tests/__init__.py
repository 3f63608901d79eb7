"""Tests of the exported networks against an independent integer oracle and the hardware."""
