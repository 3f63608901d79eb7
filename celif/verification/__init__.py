"""``verify``: the parity ladder, the gap between float and fixed point, and its alarms."""
