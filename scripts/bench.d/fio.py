#!/usr/bin/env python3
"""Measures fathom's fio beside the installed one on the same job files, and prints the section `fio` of
docs/benchmarks.md. Asserts no time.

    scripts/bench.d/fio.py FATHOM DIRECTORY [PAIRS [SECONDS [ROW...]]] | scripts/section docs/benchmarks.md fio

Nine pairs of 2 s each unless told otherwise; files of 64 MiB in DIRECTORY, removed at the end. A ratio above 1 means that
fathom did more; its interval is that of Student's t over the logarithms of the pairs' ratios. Which of a pair runs first
alternates. ROW: jobs, zram, bare, poisson, stall, memory, parse, or jobs:WORDS, zram:WORDS for those whose name holds WORDS.
"""

import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from ratios import interval
from rig import lab

# What many people run: name, the lines of the job, whether the number of I/Os is fixed.
JOBS = [
    ("sequential read, psync, cached", "rw=read\nbs=64k\nloops=200", True),
    ("random read, psync, cached", "rw=randread\nbs=4k\nloops=60", True),
    ("random read, psync, direct, 4 jobs", "rw=randread\nbs=4k\ndirect=1\nnumjobs=4\ngroup_reporting", False),
    ("random read, libaio 32, direct", "rw=randread\nbs=4k\ndirect=1\nioengine=libaio\niodepth=32", False),
    ("random read, io_uring 32, cached", "rw=randread\nbs=4k\nioengine=io_uring\niodepth=32\nnorandommap", False),
    ("random write, libaio 16, direct", "rw=randwrite\nbs=8k\ndirect=1\nioengine=libaio\niodepth=16", False),
    ("mixed 70/30, io_uring 16, direct", "rw=randrw\nrwmixread=70\nbs=8k\ndirect=1\nioengine=io_uring\niodepth=16", False),
    ("zipf read, psync, 16 jobs, cached", "rw=randread\nbs=4k\nrandom_distribution=zipf:1.1\nnumjobs=16\ngroup_reporting", False),
    ("read at 2000 IOPS, libaio, direct", "rw=randread\nbs=4k\ndirect=1\nioengine=libaio\niodepth=8\nrate_iops=2000", False),
    ("write and verify, crc32c, cached", "rw=randwrite\nbs=4k\nverify=crc32c\nloops=30", True),
]


class Bench:
    def __init__(self, fathom, folder, pairs, seconds):
        self.programs = {"fathom": [fathom, "fio"], "fio": ["fio"]}
        self.folder, self.pairs, self.seconds = folder, pairs, seconds
        self.environment = {**os.environ, "LC_ALL": "C", "FATHOM_STORE": os.path.join(folder, "runs.db")}
        self.environment.pop("FATHOM_NOTES", None)

    def start(self, program, words):
        words = [*self.programs[program], *words]
        return subprocess.Popen(words, env=self.environment, cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, program, words):
        """What a run says, as JSON."""
        child = self.start(program, ["--output-format=json", *words])
        return self.ended(child, program, words)

    def ended(self, child, program, words):
        out, errors = child.communicate(timeout=120)
        if child.returncode != 0:
            sys.exit(f"error: {program} {' '.join(words)} failed: {errors or out}")
        return json.loads(out[out.index("{"):])

    def job(self, name, lines, fixed, target="data"):
        path = os.path.join(self.folder, "job.fio")
        length = "" if fixed else f"runtime={self.seconds}\ntime_based\n"
        with open(path, "w") as file:
            file.write(f"[job]\nfilename={target}\nsize=64m\n{length}{lines}\n")
        # Cached jobs find the file in the page cache for both; fio would drop it at each start.
        if "direct=1" not in lines:
            with open(path, "a") as file:
                file.write("invalidate=0\n")
        pairs, counts = [], set()
        for turn in range(self.pairs):
            order = ["fathom", "fio"] if turn % 2 == 0 else ["fio", "fathom"]
            rate = {}
            for program in order:
                job = self.run(program, ["job.fio"])["jobs"][0]
                done = {verb: job[verb]["total_ios"] for verb in ("read", "write")}
                rate[program] = job["read"]["iops"] + job["write"]["iops"]
                if fixed:
                    counts.add((program, done["read"], done["write"]))
            pairs.append((rate["fathom"], rate["fio"]))
        same = "-" if not fixed else "yes" if len({count[1:] for count in counts}) == 1 else "NO"
        ratio, low, high = interval([ours / theirs for ours, theirs in pairs])
        ours, theirs = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
        print(f"| {name} | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} ({low:.2f} to {high:.2f}) | {same} |")

    def jobs(self, words=""):
        print("\n### Ten common job files\n")
        print(f"{self.pairs} pairs in turns, {self.seconds} s each where the job is not bound by its bytes, one ext4 file of 64 MiB.\n")
        print("| job | fathom IOPS | fio IOPS | ratio, 95 % interval | same counts |\n|---|---:|---:|---|---|")
        self.run("fio", ["--name=x", "--filename=data", "--size=64m", "--rw=write", "--bs=1m", "--end_fsync=1"])
        for name, lines, fixed in JOBS:
            if words in name:
                self.job(name, lines, fixed)

    def zram(self, words=""):
        """The same jobs on memory that is a block device, all of them past the page cache."""
        made = lab("zram", "create", "--size", "256M")
        device = made["device"]
        self.environment["FATHOM_WRITE_CONSENT"] = device
        try:
            print("\n### The same on zram, direct\n")
            print(f"{self.pairs} pairs in turns, {self.seconds} s each where the job is not bound by its bytes, 64 MiB written once.\n")
            print("| job | fathom IOPS | fio IOPS | ratio, 95 % interval | same counts |\n|---|---:|---:|---|---|")
            self.run("fio", ["--name=x", f"--filename={device}", "--size=64m", "--rw=write", "--bs=1m", "--direct=1"])
            for name, lines, fixed in JOBS:
                if words not in name:
                    continue
                direct = lines if "direct=1" in lines else lines + "\ndirect=1"
                self.job(name.replace(", cached", "").replace(", direct", ""), direct, fixed, device)
        finally:
            lab("remove", made["name"])

    def bare(self):
        """What a loop that does nothing but read reaches: the most that psync allows any program."""
        program = os.path.join(os.path.dirname(self.programs["fathom"][0]), "examples", "bare_reads")
        if not os.path.exists(program):
            sys.exit(f"error: there is no {program}\nhint: cargo build --release -p fathom-engine --example bare_reads")
        made = lab("zram", "create", "--size", "256M")
        try:
            print("\n### The bound of psync: a loop of nothing but `pread`\n")
            print("`bare_reads` (an example of `crates/engine`) reads random blocks of 4 KiB one after the other, and neither counts nor")
            print(f"times them. {self.pairs} rounds of all three in turns, {self.seconds} s each, medians.\n")
            print("| reads | the loop | fathom | of the loop | fio | of the loop |\n|---|---:|---:|---:|---:|---:|")
            for name, target, direct in (("cached file", "data", 0), ("zram, direct", made["device"], 1)):
                flags = [f"--filename={target}", "--size=64m", f"--direct={direct}"]
                self.run("fio", ["--name=x", *flags, "--rw=write", "--bs=1m"])
                words = ["--name=x", *flags, "--rw=randread", "--bs=4k", "--invalidate=0", "--norandommap", "--time_based",
                         f"--runtime={self.seconds}"]
                rates = {"loop": [], "fathom": [], "fio": []}
                loop = [program, "4096", str(64 << 20), str(self.seconds), str(direct), target]
                for _ in range(self.pairs):
                    rates["loop"].append(float(subprocess.run(loop, cwd=self.folder, check=True, capture_output=True).stdout))
                    for ours in ("fathom", "fio"):
                        rates[ours].append(self.run(ours, words)["jobs"][0]["read"]["iops"])
                bound, ours, theirs = (statistics.median(rates[key]) for key in ("loop", "fathom", "fio"))
                print(f"| {name} | {bound:,.0f} | {ours:,.0f} | {ours / bound:.2f} | {theirs:,.0f} | {theirs / bound:.2f} |")
        finally:
            lab("remove", made["name"])

    def poisson(self):
        print("\n### `rate_process=poisson`, null engine\n")
        print("| asked for, IOPS | fathom, % of it | fio, % of it |\n|---:|---:|---:|")
        for rate in (1_000, 100_000, 300_000, 700_000):
            words = ["--name=p", "--ioengine=null", "--size=1t", "--rw=randread", "--norandommap", "--time_based",
                     f"--rate_iops={rate}", "--rate_process=poisson"]
            # At 1000 a second ten seconds hold 10,000 arrivals, whose number is random by 1 %.
            words.append(f"--runtime={10 if rate < 10_000 else 3}")
            share = {}
            for program in ("fathom", "fio"):
                said = self.run(program, words)["jobs"][0]["read"]
                share[program] = said["total_ios"] / (said["runtime"] / 1000) / rate * 100
            print(f"| {rate:,} | {share['fathom']:.1f} | {share['fio']:.1f} |")

    def stall(self):
        print("\n### A stall of a second at `rate_iops=1000`\n")
        print("The program is stopped for the third of five seconds. On the intended schedule every fifth I/O is late: p90 is")
        print("500 ms, p99 is 950 ms. The file is in the page cache: on a disk the missed I/Os would take their time as well.\n")
        print("| | p90 ms | p99 ms |\n|---|---:|---:|")
        self.run("fio", ["--name=x", "--filename=data", "--size=64m", "--rw=write", "--bs=1m", "--invalidate=0"])
        words = ["--name=s", "--filename=data", "--invalidate=0", "--size=64m", "--rw=randread", "--norandommap", "--time_based",
                 "--runtime=5", "--rate_iops=1000", "--percentile_list=90:99", "--lat_percentiles=1", "--output-format=json"]
        for program in ("fathom", "fio"):
            more = ["--extras"] if program == "fathom" else []
            child = self.start(program, words + more)
            time.sleep(2.5)
            stopped = tree(child.pid)
            for process in stopped:
                os.kill(process, signal.SIGSTOP)
            time.sleep(1)
            for process in stopped:
                os.kill(process, signal.SIGCONT)
            said = self.ended(child, program, words)
            rows = [(f"{program}, lat_ns", said["jobs"][0]["read"]["lat_ns"])]
            if program == "fathom":
                rows.append(("fathom, from the intended start (`--extras`)", said["fathom"]["jobs"][0]["response_ns"]["read"]))
            for name, latency in rows:
                ms = [latency["percentile"][key] / 1e6 for key in ("90.000000", "99.000000")]
                print(f"| {name} | {ms[0]:.1f} | {ms[1]:.1f} |")

    def memory(self):
        print("\n### Peak resident memory, 64 psync jobs\n")
        words = ["--name=m", "--filename=data", "--size=64m", "--rw=randread", "--bs=4k", "--numjobs=64", "--thread",
                 "--time_based", "--runtime=2", "--group_reporting", "--output-format=json"]
        peak, own = {}, {}
        for program in ("fathom", "fio"):
            child = self.start(program, words)
            while child.poll() is None:
                try:
                    status = dict(re.findall(r"(VmHWM|RssFile):\s+(\d+)", open(f"/proc/{child.pid}/status").read()))
                except OSError:
                    break
                if len(status) == 2:
                    peak[program] = int(status["VmHWM"]) / 1024
                    own[program] = peak[program] - int(status["RssFile"]) / 1024
                time.sleep(0.01)
            self.ended(child, program, words)
        print("Of its own: what is not mapped from files (the program's text and its libraries', of which there is one copy in memory).\n")
        print("| | fathom MiB | fio --thread MiB | ratio |\n|---|---:|---:|---:|")
        for name, seen in (("all (VmHWM)", peak), ("of its own (VmHWM less RssFile)", own)):
            print(f"| {name} | {seen['fathom']:.1f} | {seen['fio']:.1f} | {seen['fathom'] / seen['fio']:.2f} |")

    def parse(self):
        print("\n### A job file of 5,000 sections, read and checked (`--parse-only`)\n")
        path = os.path.join(self.folder, "large.fio")
        with open(path, "w") as file:
            file.write("[global]\nbs=4k\nsize=64m\ndirect=1\nioengine=libaio\niodepth=8\n")
            for number in range(5000):
                file.write(f"[job{number}]\nrw=randread\nfilename=data\noffset={number}k\nruntime=10\nstonewall\n")
        times = {}
        for program, more in (("fathom", ["large.fio"]), ("start of fathom", [])):
            words = [*self.programs["fathom"], "--parse-only", *more] if more else [*self.programs["fathom"], "--version"]
            took = []
            for _ in range(self.pairs):
                began = time.perf_counter()
                subprocess.run(words, env=self.environment, cwd=self.folder, check=True, capture_output=True)
                took.append((time.perf_counter() - began) * 1000)
            times[program] = statistics.median(took)
        print("| with the start of the program, ms | the start alone (`--version`), ms |\n|---:|---:|")
        print(f"| {times['fathom']:.1f} | {times['start of fathom']:.1f} |")


def tree(process):
    """A process and its children: fio forks its jobs."""
    try:
        children = open(f"/proc/{process}/task/{process}/children").read().split()
    except OSError:
        children = []
    return [process, *(below for child in children for below in tree(int(child)))]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    fathom, directory = os.path.abspath(sys.argv[1]), sys.argv[2]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    rows = sys.argv[5:] or ["jobs", "zram", "bare", "poisson", "stall", "memory", "parse"]
    if shutil.which("fio") is None:
        sys.exit("error: fio is not installed\nhint: scripts/setup installs what is needed")
    with tempfile.TemporaryDirectory(dir=directory, prefix="fathom-bench-") as place:
        bench = Bench(fathom, place, pairs, seconds)
        version = subprocess.run(["fio", "--version"], capture_output=True, text=True).stdout.strip()
        print("## fio's job files, fathom beside fio")
        print()
        print(f"`scripts/bench.d/fio.py`, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, {version}, "
              f"kernel {platform.release()}, {os.cpu_count()} CPUs.")
        if os.environ.get("BENCH_NOTE"):
            print(f"\n{os.environ['BENCH_NOTE']}")
        for row in rows:
            name, _, words = row.partition(":")
            getattr(bench, name)(*([words] if words else []))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
