"""Pairs of runs, fathom and fio in turn on one CPU; ratios with their intervals; the page.

Knows nothing of making disks: scripts/bench makes them and takes them away."""

import argparse
import datetime
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

BEST = ["--norandommap", "--iomem_align=4k", "--gtod_reduce=1"]
BATCHES = ["--iodepth_batch_submit=64", "--iodepth_batch_complete_min=64"]
RATE = 8000
SHARES = []  # Of the CPU, that each run got: its CPU time by the time it took.


# ---- running --------------------------------------------------------------------------------------------------------


class Ended:
    """What is left of a process: its output, its CPU seconds, the most memory it had."""

    def __init__(self, out, user_s, peak_kib):
        self.out, self.user_s, self.peak_kib = out, user_s, peak_kib


def high_water(pid):
    """VmHWM in KiB. Not ru_maxrss: that begins with what the parent had at the fork."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            found = re.search(r"VmHWM:\s+(\d+)", status.read())
            return int(found.group(1)) if found else 0
    except OSError:
        return 0


def run(command, cpu, watch_memory=False):
    """Runs one command on one CPU and waits for it; with `watch_memory` its high-water mark is read all along."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic()
        child = subprocess.Popen(["taskset", "-c", str(cpu), *command], stdout=out, stderr=err)
        try:
            peak = 0
            while watch_memory:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                peak = max(peak, high_water(child.pid))
                time.sleep(0.05)
            else:
                _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        SHARES.append((usage.ru_utime + usage.ru_stime) / (time.monotonic() - begun))
        out.seek(0)
        err.seek(0)
        text = out.read().decode()
        if child.returncode not in (0, 3):
            sys.exit(f"error: {shlex.join(command)} ended with {child.returncode}\n{err.read().decode()}")
        return Ended(text, usage.ru_utime, peak)


# ---- the two tools --------------------------------------------------------------------------------------------------


def fathom(options, engine, depth, seconds, *more):
    """A load of fathom's on what `more` ends with."""
    load = ["run", "--read", "random", "--block", "4k", "--depth", str(depth)]
    load += ["--engine", engine] if engine else []
    return [options.fathom, *load, "--time", f"{seconds}s", "--no-preflight", "--json", *more]


def fio(engine, depth, seconds, path, *more):
    """The same load for fio; without `more` nothing but engine, depth and size."""
    where = [f"--filename={path}", "--size=100%"] if path else ["--size=1g"]
    return ["fio", "--name=bench", "--rw=randread", "--bs=4k", f"--ioengine={engine}", f"--iodepth={depth}", *where,
            f"--runtime={seconds}", "--time_based", *more, "--output-format=json"]


def fathom_iops(out):
    """Operations by the span from the first submission to the last completion."""
    workers = json.loads(out)["runs"][0]["workers"]
    return sum(w["counts"][0][1]["operations"] / ((w["span_ns"][1] - w["span_ns"][0]) / 1e9) for w in workers)


def fathom_operations(out):
    return sum(w["counts"][0][1]["operations"] for w in json.loads(out)["runs"][0]["workers"])


def fio_read(out):
    return json.loads(out[out.index("{"):])["jobs"][0]["read"]


# ---- pairs and intervals --------------------------------------------------------------------------------------------


def interval(count):
    """Which order statistics bound the median at 95 % or more, and how sure that is; the widest if none do."""
    def sure(k):
        return 1 - 2 * sum(math.comb(count, i) for i in range(k + 1)) / 2**count
    rank = max([k for k in range((count + 1) // 2) if sure(k) >= 0.95], default=0)
    return rank, sure(rank)


def paired(ours, theirs):
    """Median of the pairs' ratios, with its interval."""
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    rank, _ = interval(len(ratios))
    return statistics.median(ratios), ratios[rank], ratios[-1 - rank]


def interleaved(options, measures):
    """Every measure once a round, the order turned by one each round, so that drift falls on all alike."""
    seen = {name: [] for name in measures}
    names = list(measures)
    for turn in range(options.pairs):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            seen[name].append(measures[name]())
    return seen


def human(value):
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


class Page:
    """Rows and commands as they come."""

    def __init__(self):
        self.rows, self.commands, self.shares = [], [], []

    def add(self, what, goal, measured, raw, met):
        row = [what, goal, measured, raw, {True: "yes", False: "no"}[met]]
        self.rows.append(row)
        print("| " + " | ".join(row) + " |", flush=True)

    def ran(self, what, *commands):
        self.commands.append((what, [shlex.join(c) for c in commands]))


def compare(options, page, what, commands, goals, note=""):
    """IOPS of fathom beside those of fio in one or two dresses. `goals`: dress -> ratio to reach, or None."""
    measures = {"fathom": lambda: fathom_iops(run(commands["fathom"], options.cpu).out)}
    for dress in goals:
        measures[dress] = lambda dress=dress: fio_read(run(commands[dress], options.cpu).out)["iops"]
    seen = interleaved(options, measures)
    ours = statistics.median(seen["fathom"])
    page.ran(what, *commands.values())
    for dress, goal in goals.items():
        ratio, low, high = paired(seen["fathom"], seen[dress])
        wanted = f">= {goal:.2f} x {dress}" if goal else f"beside {dress}"
        raw = f"{human(ours)} : {human(statistics.median(seen[dress]))} IOPS{note}"
        if goal:
            page.add(what, wanted, f"{ratio:.2f} x ({low:.2f} to {high:.2f})", raw, ratio >= goal)
    return seen


# ---- rows -----------------------------------------------------------------------------------------------------------


def row_io_uring(options, page):
    load = ("io_uring", 128, options.seconds)
    same = ["--direct=0", "--invalidate=0"]
    commands = {
        "fathom": fathom(options, *load, "--buffered", options.cached),
        "defaults": fio(*load, options.cached, *same),
        "best": fio(*load, options.cached, *same, "--fixedbufs", "--registerfiles", *BEST, *BATCHES),
    }
    compare(options, page, "io_uring, page-cached file, 128 outstanding", commands, {"defaults": 3.0, "best": 1.10})


def row_libaio(options, page):
    load = ("libaio", 128, options.seconds)
    commands = {
        "fathom": fathom(options, *load, options.device),
        "defaults": fio(*load, options.device, "--direct=1"),
        "best": fio(*load, options.device, "--direct=1", *BEST, *BATCHES),
    }
    compare(options, page, "libaio, zram, direct, 128 outstanding", commands, {"defaults": 2.2, "best": 1.15})


def row_psync(options, page):
    load = ("psync", 1, options.seconds)
    commands = {
        "fathom": fathom(options, *load, options.device),
        "best": fio(*load, options.device, "--direct=1", *BEST),
    }
    compare(options, page, "psync, zram, direct, 1 outstanding", commands, {"best": 1.05})


def row_null(options, page, depth, goal):
    commands = {
        "fathom": fathom(options, None, depth, options.seconds, "null"),
        "null": fio("null", depth, options.seconds, None, "--clat_percentiles=1"),
    }
    what = f"null queue, {depth} outstanding"
    seen = interleaved(options, {
        "fathom": lambda: fathom_iops(run(commands["fathom"], options.cpu).out),
        "null": lambda: fio_read(run(commands["null"], options.cpu).out)["iops"],
    })
    page.ran(what, *commands.values())
    ours = sorted(seen["fathom"])
    rank, _ = interval(len(ours))
    middle = statistics.median(ours)
    spread = f"{middle / 1e6:.1f} M/s ({ours[rank] / 1e6:.1f} to {ours[-1 - rank] / 1e6:.1f})"
    ratio, low, high = paired(seen["fathom"], seen["null"])
    raw = f"{human(middle)} : {human(statistics.median(seen['null']))} IOPS, {ratio:.1f} x ({low:.1f} to {high:.1f})"
    page.add(what, f">= {goal} M/s", spread, raw, middle >= goal * 1e6)


def row_cpu(options, page):
    """User CPU per I/O, starting up left out: of a long run less that of a short one."""
    short, long = 1, 1 + 2 * options.seconds

    def ours(seconds):
        return fathom(options, "io_uring", 32, seconds, "--rate", str(RATE), options.cached)

    def theirs(seconds):
        return fio("io_uring", 32, seconds, options.cached, "--direct=1", f"--rate_iops={RATE}",
                   "--rate_process=poisson")

    def slope(make, operations):
        few, many = run(make(short), options.cpu), run(make(long), options.cpu)
        count = operations(many.out) - operations(few.out)
        return max(many.user_s - few.user_s, 1e-6) / count * 1e6

    seen = interleaved(options, {
        "fathom": lambda: slope(ours, fathom_operations),
        "fio": lambda: slope(theirs, lambda out: fio_read(out)["total_ios"]),
    })
    what = f"user CPU per I/O at {RATE}/s on the real disk"
    page.ran(what, ours(long), theirs(long))
    ratio, low, high = paired(seen["fathom"], seen["fio"])
    raw = " : ".join(f"{statistics.median(seen[name]):.2f}" for name in ("fathom", "fio")) + " us"
    page.add(what, "<= 0.50 x", f"{ratio:.2f} x ({low:.2f} to {high:.2f})", raw, ratio <= 0.5)


def first_io_ms(command, cpu):
    """From execve to the first I/O, under strace, which stops only at these calls and still slows the start."""
    calls = "execve,io_uring_enter,io_submit,pread64,preadv2"
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as trace:
        strace = ["strace", "-f", "--seccomp-bpf", "-y", "-ttt", "-e", f"trace={calls}", "-o", trace.name]
        run([*strace, *command], cpu)
        begun = None
        for line in trace:
            _, moment, call = line.split(None, 2)
            if begun is None and call.startswith("execve("):
                begun = float(moment)
            # A read of 4096 bytes from the target, or a ring entered with something to submit.
            if re.match(r"io_uring_enter\(\d+(<[^>]*>)?, [1-9]|io_submit\(|preadv?2?(64)?\(\d+<[^>]*cached>", call):
                return (float(moment) - begun) * 1e3
    sys.exit(f"error: no I/O seen in {shlex.join(command)}")


def row_start(options, page):
    commands = {
        "fathom": fathom(options, "io_uring", 128, 0.2, "--buffered", options.cached),
        "fio": fio("io_uring", 128, 1, options.cached, "--direct=0", "--invalidate=0"),
    }
    seen = interleaved(options, {name: lambda c=command: first_io_ms(c, options.cpu)
                                 for name, command in commands.items()})
    what = "start to first I/O (under strace)"
    page.ran(what, *commands.values())
    plain(page, what, seen, "<= 50 ms", "ms", 50)


def row_memory(options, page):
    commands = {
        "fathom": fathom(options, "io_uring", 128, 1, "--buffered", options.cached),
        "fio": fio("io_uring", 128, 1, options.cached, "--direct=0", "--invalidate=0", "--thread"),
    }
    seen = interleaved(options, {name: lambda c=command: run(c, options.cpu, True).peak_kib / 1024
                                 for name, command in commands.items()})
    what = "peak memory, one worker, 128 outstanding 4 KiB"
    page.ran(what, *commands.values())
    plain(page, what, seen, "<= 16 MiB", "MiB", 16)


def plain(page, what, seen, goal, unit, most):
    """A figure of fathom's own with its interval, fio's beside it."""
    ours = sorted(seen["fathom"])
    rank, _ = interval(len(ours))
    middle = statistics.median(ours)
    measured = f"{middle:.1f} {unit} ({ours[rank]:.1f} to {ours[-1 - rank]:.1f})"
    page.add(what, goal, measured, f"{middle:.1f} : {statistics.median(seen['fio']):.1f} {unit}", middle <= most)


ROWS = {
    "io_uring": row_io_uring,
    "libaio": row_libaio,
    "psync": row_psync,
    "null128": lambda options, page: row_null(options, page, 128, 35),
    "null1": lambda options, page: row_null(options, page, 1, 20),
    "cpu": row_cpu,
    "start": row_start,
    "memory": row_memory,
}

BOUND_BY_CPU = {"io_uring", "libaio", "psync", "null128", "null1"}


# ---- the page -------------------------------------------------------------------------------------------------------

HEAD = ["what", "goal", "measured", "fathom : fio, medians", "reached"]

READING = """### How to read it

- **measured** is the median over the pairs, and in brackets its interval: the {low}. and the {high}. of {pairs} in order,
  which hold the median with {sure:.1f} % whatever the distribution is. A ratio is taken within each pair, and the median of
  the ratios is not the ratio of the medians beside it.
- **reached** compares the median with the goal. An interval on both sides of the goal means that this run cannot tell.
- **defaults** is fio with nothing but engine, depth and size (and what makes it the same load: direct or cached, for so
  long). **best** adds what makes fio fastest, `gtod_reduce=1` with it, which throws its latencies away. fathom always
  keeps every latency, with moments and histogram, and is given no options.
- *null queue*: no I/O at all, so it is the cost of the program itself: choosing an offset, pacing, the clock, the
  counting of the latency. fio's `null` engine stands beside it with its percentiles of completion latency on.
- *user CPU per I/O*: user time of the whole process in a run of {long} s less that in one of 1 s, by the I/Os between
  them, so that starting up is left out. Both with Poisson arrivals. The kernel divides a process's time into user and
  system at its clock ticks ({hz} a second), so that a figure of one run is coarse.
- *start to first I/O*: from execve to the first call that submits one, under `strace --seccomp-bpf`, which makes both
  slower: the real figures are smaller.
- *peak memory*: VmHWM of the process, read every 50 ms until it ends; fio with `--thread`, so that it is one process
  as well.

### Noise

Both programs are pinned to the same one CPU ({cpu}) and run in turn, the order changing each round, so that what drifts falls
on both. On a shared or virtual machine single runs differ by 10 % and more, and absolute figures by more than that
between hours: compare ratios, not IOPS between pages. Whatever else runs at the time widens the intervals. While this
page was measured the load average was {load}, and other guests took {steal:.1f} % of the CPU time.
The loads that the CPU bounds got {share} of their CPU, starting up included; nearly all of it on an idle
machine. A run that got two thirds of it shows two thirds of the IOPS: the rates without a ratio (null queue) suffer most.
The zram device was never written: its reads are answered with zeros, so that what is measured is the cost of asking
(of a written one most of the time goes into the copying of its pages, the same for both). zram hands io_uring's requests to
worker threads, so io_uring is measured on a cached file and zram by libaio and psync.
"""


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def cpu_ticks():
    with open("/proc/stat", encoding="ascii") as stat:
        return [int(word) for word in stat.readline().split()[1:9]]


def machine(options):
    lscpu = dict(line.split(":", 1) for line in output("lscpu").splitlines() if ":" in line)
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "CPU": f"{lscpu.get('Model name', '?').strip()}, {os.cpu_count()} CPUs"
               + (f", under {lscpu['Hypervisor vendor'].strip()}" if "Hypervisor vendor" in lscpu else ""),
        "kernel": os.uname().release,
        "fio": output("fio", "--version"),
        "fathom": output(options.fathom, "--version"),
        "pairs": f"{options.pairs} of {options.seconds} s each",
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def write(options, page, before):
    ticks = [b - a for a, b in zip(before, cpu_ticks())]
    rank, sure = interval(options.pairs)
    lines = ["## The engine beside fio", "", "Written by `make bench`; not by hand. fathom against fio, in the same run.", "",
             machine(options), "", "| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in page.rows]
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    shares = sorted(page.shares)
    share = f"{shares[0]:.0%} to {shares[-1]:.0%}, median {statistics.median(shares):.0%}," if shares else "-"
    lines += ["", READING.format(share=share, low=rank + 1, high=options.pairs - rank, pairs=options.pairs, sure=sure * 100,
                                 long=1 + 2 * options.seconds, cpu=options.cpu, load=f"{load} at its end",
                                 hz=os.sysconf("SC_CLK_TCK"),
                                 steal=100 * ticks[7] / max(sum(ticks), 1))]
    lines += ["### Commands", "", "Each with `taskset -c %d`." % options.cpu, ""]
    for what, commands in page.commands:
        shown = [c.replace(options.fathom, "fathom").replace(options.cached, "CACHED") for c in commands]
        shown = [c.replace(options.device, "ZRAM") if options.device else c for c in shown]
        lines += [f"{what}:", "", "```", *shown, "```", ""]
    with open(options.out, "w", encoding="utf-8") as out:
        out.write("\n".join(lines).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser()
    for name in ("fathom", "cached", "device", "out"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("pairs", "seconds", "cpu"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    unknown = set(options.rows) - set(ROWS)
    if unknown or options.pairs < 1 or options.seconds < 1:
        sys.exit(f"error: no such row: {' '.join(sorted(unknown))}\nhint: {' '.join(ROWS)}" if unknown
                 else "error: BENCH_PAIRS and BENCH_SECONDS are whole numbers above 0")
    page, before = Page(), cpu_ticks()
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    for name in options.rows or ROWS:
        if name in ("libaio", "psync") and not options.device:
            continue
        first = len(SHARES)
        ROWS[name](options, page)
        if name in BOUND_BY_CPU:
            page.shares += SHARES[first:]
    write(options, page, before)
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
