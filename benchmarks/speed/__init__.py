"""Speed: training steps, the twin and Lava, compared with peers."""
