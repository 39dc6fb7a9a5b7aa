#!/usr/bin/env python3
"""SLOB through PostgreSQL, measured against what PostgreSQL's own programs and the bare disk do.

    scripts/bench.d/slob.py --fathom target/release/fathom --folder DIR [--pairs 9] [--seconds 2]
        [--rows client,setup,device,throttle,counters] [--cell 10] [--page FILE]

client    selects a second with everything cached, against `pgbench -M prepared` with the same statement and sessions
setup     eight schemas of 32 MiB, against COPY by psql, and against inserts of one row each
device    device reads a second under --limit-cache, against our own direct random reads with as many outstanding
throttle  a disk of 2,000 reads a second (scripts/lab throttle), data four times the limit on the memory
counters  blocks and rows that fathom reports, against the server's counters before and after, with a foreign client beside it

Writes a section in Markdown. Needs root, PostgreSQL with psql and pgbench, and 2 GiB below DIR, on the disk that is meant;
what it makes there it removes. Asserts no time."""

import argparse
import glob
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BLOCK = 8192
# What fathom's sessions set, so that both run one plan: one block at a time by the index.
PLAN = "-c plan_cache_mode=force_generic_plan -c enable_bitmapscan=off -c enable_seqscan=off -c jit=off"
HERE = pathlib.Path(__file__).resolve().parent


def run(command, fine=(0,), **more):
    """Runs one command, which may end with these statuses, and answers what it printed."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if ended.returncode not in fine:
        sys.exit(f"error: {' '.join(words)} ended with {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def middle(values):
    """Median, least and most."""
    return statistics.median(values), min(values), max(values)


def ratio(values):
    """A median ratio with its range."""
    median, least, most = middle(values)
    return f"{median:.2f} ({least:.2f} to {most:.2f})"


def interleaved(rounds, measures):
    """Every measure once a round, their order turned by one each round, so that drift falls on all alike."""
    seen = {name: [] for name in measures}
    names = list(measures)
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            seen[name].append(measures[name]())
    return seen


class Postgres:
    """A server of its own in a folder, on a socket there; removed at the end."""

    def __init__(self, folder, **more):
        homes = glob.glob("/usr/lib/postgresql/*/bin/postgres") + glob.glob("/usr/pgsql-*/bin/postgres")
        if not homes:
            sys.exit("error: there is no PostgreSQL server here\nhint: scripts/setup --databases")
        self.bin = pathlib.Path(max(homes, key=lambda path: int(re.search(r"(\d+)/bin|-(\d+)/", path).group(1) or 0))).parent
        self.user = pwd.getpwnam("postgres")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="server-", dir=folder))
        os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        self.as_user = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": [], "cwd": self.home}
        run([self.bin / "initdb", "-D", self.home / "data", "-U", "postgres", "--auth=trust", "--no-sync", "--no-locale"],
            **self.as_user)
        settings = {"listen_addresses": "", "unix_socket_directories": self.home, "wal_level": "minimal",
                    "max_wal_senders": 0, "shared_buffers": "512MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h", **more}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.home / "log", "w", encoding="utf-8") as log:
            self.server = subprocess.Popen([self.bin / "postgres", "-D", self.home / "data", *words],
                                           stdout=log, stderr=log, **self.as_user)
        self.words = ["-h", str(self.home), "-U", "postgres"]
        self.url = f"postgres://postgres@/postgres?host={self.home}"
        for _ in range(500):
            if subprocess.run(["psql", *self.words, "-c", "", "postgres"], capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.02)
        sys.exit(f"error: the server does not answer\n{(self.home / 'log').read_text()}")

    def sql(self, text):
        """Tells it something."""
        return run(["psql", *self.words, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-c", text, "postgres"])

    def pgbench(self, script, sessions, seconds):
        """Transactions a second of a script."""
        path = self.home / "script.sql"
        path.write_text(script)
        out = run(["pgbench", *self.words, "-n", "-M", "prepared", "-c", sessions, "-j", sessions, "-T", seconds, "-f", path,
                   "postgres"], env=dict(os.environ, PGOPTIONS=PLAN))
        return float(re.search(r"tps = ([0-9.]+)", out).group(1))

    def end(self):
        """Stops and removes it."""
        self.server.send_signal(2)
        try:
            self.server.wait(30)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.home)


class Bench:
    """What all rows need."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.environment = dict(os.environ, FATHOM_STORE=str(folder / "store.db"))

    def slob(self, *words, before=()):
        """One command of slob; its record when it prints one."""
        out = run([*before, self.arguments.fathom, "slob", *words], cwd=self.folder, env=self.environment)
        return json.loads(out) if "--json" in words else out

    def reads(self, path, depth, seconds):
        """Our own direct random reads of a block: IOPS."""
        words = ["run", "--read", "random", "--block", "8k", "--depth", str(depth), "--time", f"{seconds}s", "--no-preflight",
                 "--json", str(path)]
        # 3: measured, on a machine that was not calm.
        record = json.loads(run([self.arguments.fathom, *words], fine=(0, 3), env=self.environment))
        return record["summary"]["iops"]["value"]


def value(record, name):
    """A figure of a record; 0 where it has none."""
    figure = record["summary"].get(name)
    return figure["value"] if figure else 0.0


def row_client(bench):
    """Selects a second with everything cached."""
    server = Postgres(bench.folder)
    try:
        bench.slob("setup", "--no-conf", "--schemas", "1", "--scale", "64M", "--db", server.url)
        blocks = 64 * 1024 * 1024 // BLOCK
        script = (f"\\set k random(1, {blocks})\n"
                  "SELECT count(scratch) FROM slob1.blocks WHERE key BETWEEN :k AND :k;\n")
        server.pgbench(script, 2, 2)
        lines = ["| sessions | fathom, selects/s | pgbench, /s | fathom / pgbench |", "|---:|---:|---:|---|"]
        for sessions in (1, 2, 8):
            load = ["run", "--no-conf", "--db", server.url, "-s", "1", "-t", str(sessions), "--work-unit", "1", "--run-time",
                    f"{bench.arguments.seconds}s", "--warm-up", "500ms", "--json"]
            seen = interleaved(bench.arguments.pairs, {
                "fathom": lambda load=load: value(bench.slob(*load), "iops"),
                "pgbench": lambda sessions=sessions: server.pgbench(script, sessions, bench.arguments.seconds),
            })
            ratios = [ours / theirs for ours, theirs in zip(seen["fathom"], seen["pgbench"])]
            ours, theirs = (statistics.median(seen[name]) for name in ("fathom", "pgbench"))
            lines.append(f"| {sessions} | {ours:.0f} | {theirs:.0f} | {ratio(ratios)} |")
            print(lines[-1], file=sys.stderr)
    finally:
        server.end()
    return [f"### Client cost: everything cached, {bench.arguments.pairs} pairs of {bench.arguments.seconds} s in turn", "",
            "`SELECT count(scratch) FROM slob1.blocks WHERE key BETWEEN $1 AND $1`, prepared, one thread a session; goal: 0.7.", "",
            *lines]


def copy_script(number, path):
    """psql's way to the same schema: its table, frozen rows, index, statistics."""
    name = f"copy{number}"
    return f"""BEGIN; CREATE SCHEMA {name};
CREATE TABLE {name}.blocks (key bigint, scratch bigint, filler text) WITH (fillfactor = 10);
ALTER TABLE {name}.blocks ALTER COLUMN filler SET STORAGE PLAIN;
\\copy {name}.blocks FROM '{path}' WITH (FREEZE)
CREATE INDEX ON {name}.blocks (key); COMMIT; ANALYZE {name}.blocks; CHECKPOINT;
"""


def row_setup(bench):
    """Eight schemas of 32 MiB."""
    schemas, blocks = 8, 32 * 1024 * 1024 // BLOCK
    rows = schemas * blocks
    server = Postgres(bench.folder)
    path = server.home / "rows"
    keys = list(range(1, blocks + 1))
    random.Random(1).shuffle(keys)
    path.write_text("".join(f"{key}\t0\t{'X' * 1024}\n" for key in keys))

    def ours():
        begun = time.monotonic()
        bench.slob("setup", "--no-conf", "--schemas", schemas, "--scale", "32M", "--load-parallel-degree", "2", "--db",
                   server.url)
        seconds = time.monotonic() - begun
        bench.slob("drop", "--no-conf", "--db", server.url)
        return seconds

    def copied():
        begun = time.monotonic()
        halves = [range(half, schemas + 1, 2) for half in (1, 2)]
        command = ["psql", *server.words, "-X", "-q", "-v", "ON_ERROR_STOP=1", "postgres"]
        running = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in halves]
        for psql, half in zip(running, halves):
            psql.stdin.write("".join(copy_script(number, path) for number in half))
            psql.stdin.close()
        if any(psql.wait() != 0 for psql in running):
            sys.exit("error: psql failed")
        seconds = time.monotonic() - begun
        server.sql("; ".join(f"DROP SCHEMA copy{number} CASCADE" for number in range(1, schemas + 1)) + "; CHECKPOINT")
        return seconds

    try:
        rounds = min(bench.arguments.pairs, 5)
        seen = interleaved(rounds, {"fathom": ours, "copy": copied})
        server.sql("CREATE TABLE single (key bigint, scratch bigint, filler text) WITH (fillfactor = 10)")
        insert = f"\\set k random(1, {blocks})\nINSERT INTO single VALUES (:k, 0, repeat('X', 1024));\n"
        single = statistics.median(server.pgbench(insert, 2, 3) for _ in range(3))
    finally:
        server.end()
    ratios = [theirs / mine for mine, theirs in zip(seen["fathom"], seen["copy"])]
    fathom, copy = (statistics.median(seen[name]) for name in ("fathom", "copy"))
    return [f"### Setup: 8 schemas of 32 MiB (scaled down from 128 MiB), two at a time, {rounds} pairs in turn", "",
            "fathom's time holds the scan tables (1 MiB each) and the proof of one row a block as well; goal: 0.9 of COPY.", "",
            "| | seconds | rows/s | fathom against it |", "|---|---:|---:|---|",
            f"| `fathom slob setup` | {fathom:.2f} | {rows / fathom:.0f} | |",
            f"| COPY by psql, the same tables and indexes | {copy:.2f} | {rows / copy:.0f} | {ratio(ratios)} |",
            f"| inserts of one row, two sessions (pgbench) | | {single:.0f} | {rows / fathom / single:.1f} |"]


SERVER = ["--cache", "8M", "--schemas", "2", "--threads", "4", "--work-unit", "1", "--scan-table-size", "1M", "--warm-up", "3s",
          "--no-conf", "--json"]


def counted(record):
    """What was counted in the run."""
    return record["facts"]["request"]["slob"]["counted"][0]


def on_own_server(bench, limit, seconds, before=()):
    """A run on a server of its own within so many MiB, its data four times as much in two schemas."""
    folder = bench.folder / "limited"
    folder.mkdir(exist_ok=True)
    words = ["--limit-cache", f"{limit}M", "--scale", f"{limit * 2}M", "--run-time", f"{seconds}s"]
    return bench.slob("run", "--server", folder, *SERVER, *words, before=before)


def row_device(bench):
    """Device reads a second beside those of the bare disk."""
    path = bench.folder / "bare"
    run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", "count=384", "oflag=direct", "status=none"])
    lines = ["| round | selects/s | device reads/s | outstanding at the device | from the disk | bare disk, 8 outstanding | ratio | "
             "bare disk, as many outstanding | ratio | server's CPU |", "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    ratios = []
    for turn in range(3):
        bare = bench.reads(path, 8, 5)
        record = on_own_server(bench, 96, 10)
        found = counted(record)
        reads = value(record, "device_reads")
        outstanding = found["device"]["read_ms"] / 1e3 / found["seconds"]
        depth = max(1, round(outstanding))
        same = bench.reads(path, depth, 5)
        ratios.append(reads / same)
        cpus = (found["cpu_ns"] or 0) / 1e9 / found["seconds"]
        lines.append(f"| {turn + 1} | {value(record, 'iops'):.0f} | {reads:.0f} | {outstanding:.1f} | "
                     f"{value(record, 'from_disk'):.2f} | {bare:.0f} | {reads / bare:.2f} | {same:.0f} ({depth}) | "
                     f"{reads / same:.2f} | {cpus:.2f} of {os.cpu_count()} |")
        print(lines[-1], file=sys.stderr)
    path.unlink()
    return ["### Device reads under `--limit-cache`, beside our own direct random reads", "",
            f"8 sessions, 384 MiB of blocks within 96 MiB of memory, WORK_UNIT 1, reads of 8 KiB. Median ratio {ratio(ratios)}.",
            "What the database leaves idle: a session that computes, or waits for a processor or for the client, has nothing",
            "outstanding; the column *outstanding* tells how many of the 8 sessions waited for the device at a time. The device's",
            "reads are all of the disk's: what exceeds the selects' share *from the disk* is others'.", "", *lines]


def row_throttle(bench):
    """A disk of 2,000 reads a second."""
    lines = ["| round | device reads/s | +- | of 2,000 | the server's own reads/s | misses of shared_buffers/s | from the page cache | "
             "verdict |", "|---:|---:|---:|---:|---:|---:|---:|---|"]
    for turn in range(3):
        throttle = [HERE.parent / "lab", "throttle", "--read-iops", "2000", "--path", bench.folder, "--"]
        record = on_own_server(bench, 64, 20, before=throttle)
        figure, found = record["summary"]["device_reads"], counted(record)
        own = (found["process_read_bytes"] or 0) / BLOCK / found["seconds"]
        missed = (found["physical"] or 0) / found["seconds"]
        says = next(c["seen"] for c in record["verdict"]["checks"] if c["name"] == "physical reads close to logical reads")
        lines.append(f"| {turn + 1} | {figure['value']:.1f} | {figure['half_width'] or 0:.1f} | {figure['value'] / 2000:.4f} | "
                     f"{own:.1f} | {missed:.1f} | {max(0.0, 1 - own / max(missed, 1e-9)):.1%} | {says.split(';')[0]} |")
        print(lines[-1], file=sys.stderr)
    return ["### A disk of 2,000 reads a second, data four times the memory", "",
            "`scripts/lab throttle --read-iops 2000`, 8 sessions, 256 MiB of blocks within `--limit-cache 64M`, 20 s after 3 s of",
            "warm-up; goal: device reads within 3 %, verdict \"measuring the disk\". *Device reads* are all of the disk's, others' too;",
            "*the server's own* are what the kernel counts for its processes.", "", *lines]


# Blocks asked for, blocks not in shared_buffers, rows read or changed: of the schemas alone.
COUNTERS = """SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read), sum(heap_blks_read + idx_blks_read),
 sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0))
 FROM pg_statio_user_tables b JOIN pg_stat_user_tables t USING (relid)
 WHERE b.schemaname ~ '^slob' AND b.relname IN ('blocks', 'scan')"""
FOREIGN = 300


def row_counters(bench):
    """Every rate at every share of updates."""
    server = Postgres(bench.folder, shared_buffers="16MB", autovacuum="off")
    script = server.home / "foreign.sql"
    script.write_text("SELECT relname FROM pg_class WHERE oid = 1259;\n")
    lines = ["| UPDATE_PCT | asked, operations/s | reached | rows touched / server's | blocks asked for / server's | "
             "misses / server's | as fathom checked it |", "|---:|---:|---:|---:|---:|---:|---|"]
    farthest = 0.0
    try:
        bench.slob("setup", "--no-conf", "--schemas", "2", "--scale", "64M", "--db", server.url)

        def now():
            return [int(part) for part in server.sql(COUNTERS).strip().split("|")]
        foreign = subprocess.Popen(["pgbench", *server.words, "-n", "-c", "2", "-R", str(FOREIGN), "-T", "86400", "-f", str(script),
                                    "postgres"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for percent in (0, 25, 50, 100):
                for rate in (10, 500, 20000):
                    before = now()
                    record = bench.slob("run", "--no-conf", "--db", server.url, "-s", "2", "-t", "4", "--work-unit", "1",
                                        "--update-pct", percent, "--rate", rate, "--run-time", f"{bench.arguments.cell}s",
                                        "--warm-up", "0s", "--json")
                    found = counted(record)
                    asked, missed, rows = (after - early for after, early in zip(now(), before))
                    ratios = [found["table_logical"] / rows, found["logical"] / asked, found["physical"] / max(missed, 1)]
                    farthest = max([farthest] + [abs(ratio - 1) for ratio in ratios])
                    check = next(c for c in record["verdict"]["checks"] if c["name"] == "counters agree with the sessions")
                    lines.append(f"| {percent} | {rate} | {value(record, 'iops'):.1f} | {ratios[0]:.4f} ({rows}) | "
                                 f"{ratios[1]:.4f} ({asked}) | {ratios[2]:.4f} ({missed}) | {check['outcome']} |")
                    print(lines[-1], file=sys.stderr)
        finally:
            foreign.terminate()
            foreign.wait()
    finally:
        server.end()
    return [f"### Counters beside the server's own, with {FOREIGN} foreign transactions a second in the same database", "",
            f"2 schemas of 64 MiB, shared_buffers 16 MiB, 8 sessions, WORK_UNIT 1, {bench.arguments.cell} s a cell without warm-up; the",
            "server's counters (`pg_statio_user_tables`, `pg_stat_user_tables`) by psql before and after, in brackets. autovacuum is off: what",
            "it reads of the tables between psql's reading and fathom's would be in one of them and not in the other.",
            f"Goal: within 2 %; the farthest is {farthest:.2%}. Where the rate was not reached, it is the most that this machine gave.", "",
            *lines]


ROWS = {"counters": row_counters, "client": row_client, "setup": row_setup, "device": row_device, "throttle": row_throttle}


def main():
    """Runs the rows and writes the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fathom", required=True)
    parser.add_argument("--folder", required=True, type=os.path.abspath)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--cell", type=int, default=10, help="seconds of a cell of the table of counters")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--note", default="", help="a sentence on what else the machine did")
    parser.add_argument("--page", help="write the section to this file instead of stdout")
    arguments = parser.parse_args()
    arguments.fathom = os.path.abspath(arguments.fathom)
    if os.geteuid() != 0:
        sys.exit("error: control groups and a server's user need root")
    wanted = arguments.rows.split(",")
    if unknown := set(wanted) - set(ROWS):
        sys.exit(f"error: no such row: {' '.join(sorted(unknown))}\nhint: {' '.join(ROWS)}")
    for program in ("psql", "pgbench"):
        if shutil.which(program) is None:
            sys.exit(f"error: {program} is not installed\nhint: scripts/setup --databases")
    version = run(["psql", "--version"]).strip()
    lines = ["## SLOB beside PostgreSQL's own programs and the bare disk", "",
             f"`scripts/bench.d/slob.py`; {version}, {os.cpu_count()} CPUs, {time.strftime('%Y-%m-%d')}. Medians, in brackets the "
             "least and the most." + (f" {arguments.note}" if arguments.note else ""), ""]
    with tempfile.TemporaryDirectory(prefix="slob-bench-", dir=arguments.folder) as folder:
        os.chmod(folder, 0o755)
        bench = Bench(arguments, pathlib.Path(folder))
        for name in wanted:
            lines += [*ROWS[name](bench), ""]
    page = "\n".join(lines).rstrip() + "\n"
    if arguments.page:
        pathlib.Path(arguments.page).write_text(page, encoding="utf-8")
    else:
        print(page, end="")


if __name__ == "__main__":
    main()
