#!/usr/bin/env python3
"""Measures fathom's dd and dt beside coreutils' dd, in turns on one file, and prints the section `dd-dt` of
docs/benchmarks.md. Asserts no time.

    scripts/bench.d/dd_dt.py FATHOM DIRECTORY [PAIRS [MIB [ROWS]]] | scripts/section docs/benchmarks.md dd-dt

Nine pairs over 1024 MiB unless told otherwise; small blocks move a quarter of it. ROWS are words of the rows' names. The file is
made in DIRECTORY and removed. A ratio above 1 means that fathom was faster; its interval is that of Student's t over the
logarithms of the pairs' ratios.
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


def piped(program, size, count, environment):
    """Bytes a second of a copy from a pipe, which the real dd fills."""
    words = [f"bs={size}", f"count={count}"]
    with subprocess.Popen(["dd", "if=/dev/zero", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as feeder:
        said = subprocess.run(
            [*program, "of=/dev/null", f"bs={size}", "iflag=fullblock"], env=environment, stdin=feeder.stdout,
            capture_output=True, text=True, check=True,
        )
    return copied(said.stderr)


def compared(text):
    """Bytes a second of dt's read pass, comparing included."""
    return int(re.findall(r"Average transfer rates: (\d+) bytes/sec", text)[0])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    fathom, directory = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    mib = int(sys.argv[4]) if len(sys.argv) > 4 else 1024
    wanted = sys.argv[5] if len(sys.argv) > 5 else ""
    with tempfile.TemporaryDirectory(dir=directory, prefix="fathom-bench-") as place:
        path, cached = os.path.join(place, "data"), os.path.join(place, "cached")
        environment = {**os.environ, "LC_ALL": "C", "FATHOM_STORE": os.path.join(place, "runs.db")}
        environment.pop("FATHOM_NOTES", None)
        write = [fathom, "dt", f"of={path}", "bs=1m", f"limit={mib}m", "flags=direct", "pattern=iot", "dispose=keep", "stats=none"]
        run(write, environment)
        theirs = ["dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct"]
        def both(words, reading=copied, mine=None):
            return (
                lambda: reading(run(mine or [fathom, *words], environment)),
                lambda: copied(run(words, environment)),
            )

        rows = [
            ("dt, read and compared", both(theirs, compared, [fathom, "dt", f"if={path}", "bs=1m", "flags=direct", "pattern=iot", "--strict"])),
            ("dd, read, direct, 1M", both(theirs)),
            ("dd, write, direct, 1M", both(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mib}", "oflag=direct", "conv=notrunc"])),
        ]
        for size, name in [(512, "512"), (4096, "4k"), (65536, "64k"), (1 << 20, "1M")]:
            blocks = (mib << 20) // size // (1 if size > 4096 else 4)
            words = [f"bs={size}", f"count={blocks}"]
            copy = [f"bs={size}", f"count={(256 << 20) // size // (1 if size > 512 else 4)}"]
            rows += [
                (f"dd, /dev/zero to /dev/null, {name}", both(["dd", "if=/dev/zero", "of=/dev/null", *words])),
                (f"dd, cached file to /dev/null, {name}", both(["dd", f"if={cached}", "of=/dev/null", *copy])),
                (f"dd, cached file to a file, {name}", both(["dd", f"if={cached}", f"of={cached}.copy", "conv=notrunc", *copy])),
                (
                    f"dd, pipe to /dev/null, {name}",
                    tuple(lambda program=program, size=size, blocks=blocks: piped(program, size, blocks // 2, environment)
                          for program in ([fathom, "dd"], ["dd"])),
                ),
            ]
        rows = [row for row in rows if all(word in row[0] for word in wanted.split())]
        for name in (cached, cached + ".copy"):
            run(["dd", "if=/dev/urandom", f"of={name}", "bs=1M", "count=256"], environment)
        print("## dd and dt beside coreutils' dd")
        print()
        print(f"`scripts/bench.d/dd_dt.py`: {count} pairs in turns, {mib} MiB (blocks of 512 and 4k: a quarter of it; files in the page cache: 256 MiB).")
        print()
        print("| what | fathom MB/s | dd MB/s | ratio, 95 % interval |")
        print("|---|---:|---:|---|")
        for name, (mine, other) in rows:
            pairs = []
            for turn in range(count):
                if turn % 2 == 0:
                    ours, others = mine(), other()
                else:
                    others, ours = other(), mine()
                pairs.append((ours, others))
            ratio, low, high = interval([ours / theirs for ours, theirs in pairs])
            mean = [sum(pair[i] for pair in pairs) / len(pairs) / 1e6 for i in (0, 1)]
            print(f"| {name} | {mean[0]:.0f} | {mean[1]:.0f} | {ratio:.2f} ({low:.2f} to {high:.2f}) |")


if __name__ == "__main__":
    main()
