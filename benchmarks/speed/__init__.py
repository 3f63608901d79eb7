"""Speed: training steps, the twin and Lava, measured beside peers."""
