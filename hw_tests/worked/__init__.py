"""Tables of steps worked by hand."""
