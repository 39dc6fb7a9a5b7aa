#!/usr/bin/env python3
"""Measures fathom's dd and dt beside coreutils' dd, in turns on one file, and prints the section `dd-dt` of
docs/benchmarks.md. Asserts no time.

    scripts/bench.d/dd_dt.py FATHOM DIRECTORY [PAIRS [MIB]] | scripts/section docs/benchmarks.md dd-dt

Nine pairs over 1024 MiB unless told otherwise. The file is made in DIRECTORY and removed. A ratio above 1 means that
fathom was faster; its interval is that of Student's t over the logarithms of the pairs' ratios.
"""

import os
import re
import subprocess
import sys
import tempfile

from ratios import interval


def run(words, environment):
    said = subprocess.run(words, env=environment, capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"error: {' '.join(words)} failed: {said.stderr or said.stdout}")
    return said.stdout + said.stderr


def copied(text):
    """Bytes a second from dd's last line."""
    found = re.search(r"(\d+) bytes.* copied, ([0-9.e+-]+) s", text)
    return int(found.group(1)) / float(found.group(2))


def compared(text):
    """Bytes a second of dt's read pass, comparing included."""
    return int(re.findall(r"Average transfer rates: (\d+) bytes/sec", text)[0])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    fathom, directory = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    mib = int(sys.argv[4]) if len(sys.argv) > 4 else 1024
    with tempfile.TemporaryDirectory(dir=directory, prefix="fathom-bench-") as place:
        path = os.path.join(place, "data")
        environment = {**os.environ, "LC_ALL": "C", "FATHOM_STORE": os.path.join(place, "runs.db")}
        environment.pop("FATHOM_NOTES", None)
        write = [fathom, "dt", f"of={path}", "bs=1m", f"limit={mib}m", "flags=direct", "pattern=iot", "dispose=keep", "stats=none"]
        run(write, environment)
        theirs = ["dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct"]
        rows = [
            ("dt, read and compared", [fathom, "dt", f"if={path}", "bs=1m", "flags=direct", "pattern=iot", "--strict"], theirs, compared),
            ("dd, read", [fathom, *theirs], theirs, copied),
            (
                "dd, write",
                [fathom, "dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mib}", "oflag=direct", "conv=notrunc"],
                ["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mib}", "oflag=direct", "conv=notrunc"],
                copied,
            ),
        ]
        print("## dd and dt beside coreutils' dd")
        print()
        print(f"`scripts/bench.d/dd_dt.py`: {count} pairs in turns, {mib} MiB in records of 1 MiB past the page cache.")
        print()
        print("| what | fathom MB/s | dd MB/s | ratio, 95 % interval |")
        print("|---|---:|---:|---|")
        for name, mine, other, reading in rows:
            pairs = []
            for turn in range(count):
                both = [lambda: reading(run(mine, environment)), lambda: copied(run(other, environment))]
                if turn % 2 == 0:
                    ours, others = both[0](), both[1]()
                else:
                    others, ours = both[1](), both[0]()
                pairs.append((ours, others))
            ratio, low, high = interval([ours / theirs for ours, theirs in pairs])
            mean = [sum(pair[i] for pair in pairs) / len(pairs) / 1e6 for i in (0, 1)]
            print(f"| {name} | {mean[0]:.0f} | {mean[1]:.0f} | {ratio:.2f} ({low:.2f} to {high:.2f}) |")


if __name__ == "__main__":
    main()
