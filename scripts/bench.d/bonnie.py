#!/usr/bin/env python3
"""Pairs of runs of bonnie++'s tests of files, fathom's and the installed one's in turn, on an ext4 and on an XFS of its
own, and the section `bonnie` of docs/benchmarks.md. Asserts no time. Needs root.

    scripts/bench.d/bonnie.py FATHOM DIR [PAIRS [THOUSANDS [FILE_SYSTEMS]]] | scripts/section docs/benchmarks.md bonnie

Nine pairs of 512 thousand (of 1024) empty files on ext4,xfs unless told otherwise. The file systems are made by scripts/lab and
removed by it whatever happens: on a loop device whose file lies in DIR, or in memory where DIR is the word zram. Which of a
pair runs first alternates; before each run the file system is synced. A ratio above 1 means that fathom was faster; its
interval is that of Student's t over the logarithms of the pairs' ratios."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from ratios import interval
from rig import lab

# Where each test's rate stands in the CSV line.
TESTS = [
    ("create, in order", 26),
    ("look, in order", 28),
    ("delete, in order", 30),
    ("create, at random", 32),
    ("look, at random", 34),
    ("delete, at random", 36),
]

def run(program, thousands, place, store):
    """One run: the rate of each test, files a second."""
    subprocess.run(["sync", "-f", place], check=True)
    words = [*program, "-d", place, "-u", "root", "-s", "0", "-n", str(thousands), "-q", "-m", "bench", "-z", "1"]
    environment = dict(os.environ, LC_ALL="C", FATHOM_STORE=store)
    environment.pop("FATHOM_NOTES", None)
    ended = subprocess.run(words, env=environment, capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"error: {' '.join(words)} failed:\n{ended.stderr}")
    fields = ended.stdout.strip().splitlines()[-1].split(",")
    # A test under half a second has no figure in either program.
    rates = [fields[at] for _, at in TESTS]
    return [float(rate) if rate.replace(".", "").isdigit() else None for rate in rates]


def rows(programs, count, thousands, place, store, kind):
    """The table's rows of one file system."""
    seen = ([], [])
    for pair in range(count):
        if pair % 2 == 0:
            # XFS puts each new folder into the next of its four allocation groups: without this one more each program
            # would always be in the same two.
            os.mkdir(os.path.join(place, f"turn-{pair}"))
        for number in (0, 1) if pair % 2 == 0 else (1, 0):
            seen[number].append(run(programs[number], thousands, place, store))
        print(f"{kind} pair {pair + 1}: {seen[0][-1]} {seen[1][-1]}", file=sys.stderr)
    for at, (name, _) in enumerate(TESTS):
        pairs = [(ours[at], theirs[at]) for ours, theirs in zip(*seen) if ours[at] and theirs[at]]
        if len(pairs) < 2:
            yield f"| {kind} | {name} | too short for a figure | | | {len(pairs)} |"
            continue
        ratio, low, high = interval([ours / theirs for ours, theirs in pairs])
        means = " | ".join(f"{statistics.mean(rates):.0f}" for rates in zip(*pairs))
        yield f"| {kind} | {name} | {means} | {ratio:.3f} ({low:.3f} to {high:.3f}) | {len(pairs)} |"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    fathom, directory = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    thousands = int(sys.argv[4]) if len(sys.argv) > 4 else 512
    kinds = sys.argv[5].split(",") if len(sys.argv) > 5 else ["ext4", "xfs"]
    if shutil.which("bonnie++") is None:
        sys.exit("error: bonnie++ is not installed\nhint: scripts/setup installs what is needed")
    if os.geteuid() != 0:
        sys.exit("error: file systems are made by root alone\nhint: be root")
    # ext4 makes one inode for 16 KiB.
    room = ["--size", f"{thousands * 18 // 1024 + 1}G"]
    device = ["zram", "create"] if directory == "zram" else ["loop", "create", "--dir", directory]
    lines = [
        "## bonnie++'s tests of files beside Debian's bonnie++",
        "",
        f"`scripts/bench.d/bonnie.py FATHOM {'zram' if directory == 'zram' else 'DIR'} {count} {thousands}`: `-s 0 -n {thousands}`, "
        f"{thousands * 1024} empty files, {count} pairs in turns, on file systems of their own on a {device[0]} device, "
        f"{os.cpu_count()} CPUs, {time.strftime('%Y-%m-%d')}. Files a second.",
        "",
        "| file system | test | fathom | bonnie++ | ratio, 95 % interval | pairs with figures |",
        "|---|---|---:|---:|---|---:|",
    ]
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as own:
        for kind in kinds:
            made = lab(*device, *room, "--fs", kind, "--mount")
            try:
                programs = [[fathom, "bonnie++"], ["bonnie++"]]
                lines += rows(programs, count, thousands, made["mount"], os.path.join(own, "runs.db"), kind)
            finally:
                lab("remove", made["name"])
    print("\n".join(lines))


if __name__ == "__main__":
    main()
