#!/usr/bin/env python3
"""Pairs of runs of sysbench's fileio, fathom's and the installed one's in turn, on the same files with the same options.

    scripts/bench.d/sysbench.py --fathom target/release/fathom --folder DIR [--pairs 9] [--seconds 3]
        [--modes rndrd,rndrw] [--threads 1,4,16] [--size 256M] [--files 128] [--page FILE]

Writes a table in Markdown: for each row the rate's ratio fathom / sysbench and the ratio of CPU time per event, each with
its 95 % interval over the pairs (Student's t on the logarithms). Which of a pair runs first alternates. The CPU time of a run
of one event, the median of three, is taken off: what a program does before its load is no cost of an event. Asserts no time.
The files are made in DIR by the installed sysbench and removed at the end."""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from ratios import interval


def run(program, options, folder, store):
    """One run: I/O a second, events, CPU seconds."""
    environment = dict(os.environ, FATHOM_STORE=store)
    before = os.times()
    ended = subprocess.run([*program, "fileio", *options], cwd=folder, env=environment, capture_output=True, text=True)
    after = os.times()
    if ended.returncode != 0:
        sys.exit(f"error: {' '.join(program)} failed:\n{ended.stdout}{ended.stderr}")
    figure = lambda label: float(re.search(label + r":\s+([0-9.]+)", ended.stdout).group(1))
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return figure("reads/s") + figure("writes/s"), figure("total number of events"), cpu


def row(arguments, folder, store, mode, threads):
    """One row of the table."""
    shape = [f"--file-num={arguments.files}", f"--file-total-size={arguments.size}"]
    rates, cpus, ours, theirs = [], [], [], []
    programs = [[arguments.fathom, "sysbench"], [arguments.sysbench]]
    load = [*shape, f"--file-test-mode={mode}", "--file-extra-flags=direct", f"--threads={threads}"]
    one = [*load, "--events=1", "run"]
    starts = [statistics.median(run(program, one, folder, store)[2] for _ in range(3)) for program in programs]
    for pair in range(arguments.pairs):
        options = [*load, f"--time={arguments.seconds}", f"--rand-seed={pair + 1}", "run"]
        seen = {}
        for number in (0, 1) if pair % 2 == 0 else (1, 0):
            rate, events, cpu = run(programs[number], options, folder, store)
            seen[number] = (rate, events, max(cpu - starts[number], 1e-3) * 1e6 / events)
        rates.append(seen[0][0] / seen[1][0])
        cpus.append(seen[0][2] / seen[1][2])
        ours.append(seen[0])
        theirs.append(seen[1])
        print(f"{mode} {threads} pair {pair + 1}: {rates[-1]:.3f} cpu {cpus[-1]:.3f}", file=sys.stderr)
    rate, low, high = interval(rates)
    cpu, cpu_low, cpu_high = interval(cpus)
    mean = lambda runs, column: statistics.mean(seen[column] for seen in runs)
    return (
        f"| {mode} | {threads} | {mean(ours, 0):.0f} | {mean(theirs, 0):.0f} | {rate:.3f} ({low:.3f} to {high:.3f}) | "
        f"{mean(ours, 2):.1f} | {mean(theirs, 2):.1f} | {cpu:.2f} ({cpu_low:.2f} to {cpu_high:.2f}) |"
    )


def main():
    """Makes the files, runs the pairs, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fathom", required=True)
    parser.add_argument("--sysbench", default="sysbench")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--modes", default="rndrd,rndrw")
    parser.add_argument("--threads", default="1,4,16")
    parser.add_argument("--size", default="256M")
    parser.add_argument("--files", type=int, default=128)
    parser.add_argument("--page", help="write the table to this file instead of stdout")
    arguments = parser.parse_args()
    arguments.fathom = os.path.abspath(arguments.fathom)
    if shutil.which(arguments.sysbench) is None:
        sys.exit(f"error: {arguments.sysbench} is not installed\nhint: scripts/setup installs what is needed")
    version = subprocess.run([arguments.sysbench, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    lines = [
        f"`fathom sysbench` against {version}: fileio, 16 KiB, direct, {arguments.files} files, {arguments.size}, "
        f"{arguments.pairs} pairs of {arguments.seconds} s in turn, {time.strftime('%Y-%m-%d')}.",
        "",
        "| mode | threads | I/O per s, fathom | sysbench | ratio (95 %) | CPU us an event, fathom | sysbench | ratio (95 %) |",
        "|---|---:|---:|---:|---|---:|---:|---|",
    ]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        store = os.path.join(folder, "store.db")
        shape = [f"--file-num={arguments.files}", f"--file-total-size={arguments.size}", "prepare"]
        subprocess.run([arguments.sysbench, "fileio", *shape], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for mode in arguments.modes.split(","):
            for threads in arguments.threads.split(","):
                lines.append(row(arguments, folder, store, mode, int(threads)))
    page = "\n".join(lines) + "\n"
    if arguments.page:
        with open(arguments.page, "w", encoding="utf-8") as out:
            out.write(page)
    else:
        print(page, end="")


if __name__ == "__main__":
    main()
