"""What several of these measurements need: the lab's devices."""

import os
import subprocess
import sys

LAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab")


def lab(*words):
    """One command of the lab: what it says, by key."""
    said = subprocess.run([LAB, *words], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"error: lab {' '.join(words)} failed:\n{said.stderr}")
    return dict(line.split("=", 1) for line in said.stdout.splitlines() if "=" in line)
