"""Tables, pictures and pages about a chip: the fit, its calibration, measured figures."""
