#!/usr/bin/env python3
"""`kvfall watch` without a terminal: what --dump prints of runs that are over, go on or have died, and what is
refused."""
import atexit
import pathlib
import re
import shutil
import signal
import sqlite3
import tempfile
import threading
from xml.etree import ElementTree

from reports import case
from runs import last_run, refused, rows, start, tree, write
from tap import SOURCE, database, finish, home, main, run, spawn, wait_until

VIEWS = {"overview": "LIMITED BY", "tiers": "demoted/s", "latency": "(e: next)", "queue": "arr/s",
         "autoscaler": "Changes and marks", "system": "Network", "requests": "does not keep them",
         "log": "run time level", "help": "shift-Tab"}
INTERVAL_S = 0.25
_kept = pathlib.Path(tempfile.mkdtemp(prefix="kvfall-test-watch-"))
atexit.register(shutil.rmtree, _kept, ignore_errors=True)


def finished():
    """The history of a run of eight intervals, made once and copied into each case's home."""
    kept = _kept / "history.db"
    if not kept.exists():
        got = finish(start({"run.duration": "2s", "run.interval": "250ms", "workload.users": 12}))
        assert got.rc == 0, got
        with sqlite3.connect(database()) as made, sqlite3.connect(kept) as copy:
            made.backup(copy)
        shutil.rmtree(database().parent)
    database().parent.mkdir(parents=True)
    shutil.copy(kept, database())


def rollback_journal():
    """Readers of a log in WAL mode make and remove files beside it; now they do not."""
    connection = sqlite3.connect(database(), isolation_level=None)
    assert connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0] == "delete"
    connection.close()


def dump(*args, rc=0, **how):
    got = run(["watch", "--dump", "--ascii", *args], **how)
    assert got.rc == rc, got
    return got


def title(*args, **how):
    return dump(*args, **how).stdout.split("\n", 1)[0]


def clock(line):
    """The run time in the first line, in seconds, to a tenth: the intervals here are below a second."""
    found = re.search(r" (\d+):(\d\d\.\d) / ", line)
    assert found, line
    return 60 * int(found.group(1)) + float(found.group(2))


def interval_at(t_s):
    """The interval that a typed time means: the last one that had ended half an interval later, or the first."""
    found = rows("SELECT * FROM intervals WHERE t_s <= ? ORDER BY seq DESC LIMIT 1", t_s + INTERVAL_S / 2)
    return (found or rows("SELECT * FROM intervals ORDER BY seq LIMIT 1"))[0]


# ---- what is shown ----

@case("--dump prints every view of a finished run: its size, its words, no other's, nothing but text")
def _():
    finished()
    for view, words in VIEWS.items():
        got = dump("latest", "--view", view, "--size", "100x30")
        lines = got.stdout.split("\n")
        assert got.stderr == "" and len(lines) == 31 and lines[30] == "", got
        assert max(map(len, lines)) <= 100 and got.stdout.isascii() and "\x1b" not in got.stdout, got
        assert re.match(r" kvfall  small - tiny-1b - run 1 .* COMPLETED$", lines[0]), got
        assert "completed " in lines[29], got
        assert words in got.stdout, (words, got)
        others = [other for other in VIEWS.values() if other != words and other in got.stdout]
        assert not others, (others, got)


def is_shape(sign):
    """Blocks and braille, which a picture draws."""
    return "\u2581" <= sign <= "\u258f" or "\u2800" < sign <= "\u28ff"


def alike(coloured, plain, drawn):
    """Whether rows are the same but for letters on the lines of a graph, which stand for colours. drawn: columns of
    the coloured one in which something is drawn."""
    wide = max(len(coloured), len(plain))
    return all(is_shape(other) or other.isalnum() if column in drawn
               else one == other and not is_shape(other) or one == "\u2501" and other.isalnum()
               for column, (one, other) in enumerate(zip(coloured.ljust(wide), plain.ljust(wide))))


@case("--dump -o FILE.svg is the same screen in colour: well-formed, its text as text, small")
def _():
    finished()
    file = home() / "work/screen.svg"
    for view in ("overview", "latency", "log"):
        args = ["watch", "--dump", "latest", "--view", view, "--size", "100x30"]
        plain = run(args).stdout.splitlines()
        got = run([*args, "-o", file, "--overwrite"])
        assert got.rc == 0 and got.stdout == "", got
        root = ElementTree.parse(file).getroot()
        space = root.tag[:-3]
        rows = [""] * 30
        for text in root.iter(space + "text"):
            row = int(text.get("y")) // 20
            for span in text:
                column, wide = int(span.get("x")) // 10, int(span.get("textLength")) // 10
                rows[row] = rows[row].ljust(column) + span.text.ljust(wide)
        drawn = [set() for row in rows]
        for path in root.iter(space + "path"):
            for x, y in re.findall(r"M([\d.]+) ([\d.]+)", path.get("d")):
                drawn[int(float(y)) // 20].add(int(float(x)) // 10)
        assert any(drawn) == (view != "log") and all(map(alike, rows, plain, drawn)), (rows, plain)
        used = set(re.findall(r'class="t(\d+)"', file.read_text()))
        assert len(used) > 4 and file.stat().st_size < 60000, (used, file.stat().st_size)
        assert all(".t%s{fill:#" % tone in file.read_text() for tone in used)
    light = run(["watch", "--dump", "--theme", "light", "-o", file, "--overwrite"])
    assert light.rc == 0 and 'fill="#ffffff"' in file.read_text(), light
    text = file.with_suffix(".txt")
    assert run(["watch", "--dump", "-o", text]).rc == 0 and text.read_text() == run(["watch", "--dump"]).stdout
    got = run(["watch", "--dump", "-o", text])
    assert got.rc == 2 and "is there already" in got.stderr, got
    got = run(["watch", "latest", "-o", file])
    assert got.rc == 2 and "--output is for --dump" in got.stderr, got


@case("--dump is 80x24 unless told, the overview, the latest run, UTF-8 where the locale is")
def _():
    finished()
    got = run(["watch", "--dump"])
    lines = got.stdout.rstrip("\n").split("\n")
    assert got.rc == 0 and len(lines) == 24 and max(map(len, lines)) <= 80, got
    assert "LIMITED BY" in got.stdout and not got.stdout.isascii() and "\u00b7" in lines[0], got
    for ref in ("latest", "1", "small", rows("SELECT uuid FROM runs")[0]["uuid"][:8]):
        assert run(["watch", ref, "--dump"]).stdout == got.stdout
    assert run(["watch", "--dump"], env={"LC_ALL": "C"}).stdout == run(["watch", "--dump", "--ascii"]).stdout
    assert run(["watch", "--dump"], env={"LC_ALL": "C"}).stdout.isascii()


@case("--size: any from 1x1 to 1000x500, columns first")
def _():
    finished()
    for cols, height in ((1, 1), (39, 9), (40, 10), (80, 24), (200, 60), (1000, 500)):
        got = dump("--size", "%dx%d" % (cols, height))
        lines = got.stdout[:-1].split("\n")
        assert len(lines) == height and max(map(len, lines)) <= cols, (cols, height, got)
    assert dump("--size", "39x9").stdout.startswith("40x10 needed, is 39x9"), dump("--size", "39x9")


@case("--at shows the interval that the time means, the first before them all, the end beyond")
def _():
    finished()
    for text, t_s in (("00:01", 1), ("0:01.5", 1.5), ("1", 1), ("1500ms", 1.5), ("0", 0), ("0:00", 0), ("1s", 1),
                      ("0:01.26", 1.26)):
        line, want = title("--at", text), interval_at(t_s)
        assert line.endswith("LOOKING BACK") and -0.02 < want["t_s"] - clock(line) < 0.11, (text, line, want["t_s"])
        got = dump("--at", text, "--view", "queue", "--size", "120x30").stdout
        assert re.search(r"^ Slots +%d of %d " % (want["in_service_now"], want["slots"]), got, re.MULTILINE), (got, want)
    for text in ("90s", "0:59", "1:02:07", "24h", "999999"):
        assert title("--at", text) == title() and title().endswith("COMPLETED")


@case("events are those of the moment, with their times")
def _():
    finished()
    connection = sqlite3.connect(database())
    n = connection.execute("SELECT coalesce(max(n), -1) + 1 FROM events").fetchone()[0]
    connection.executemany("INSERT INTO events(run_id, n, t_s, level, message) VALUES(1, ?, ?, ?, ?)",
                           [(n, 0.6, "mark", "the first note"), (n + 1, 1.4, "info", "users 20 by key")])
    connection.commit()
    connection.close()
    got = dump("--view", "log").stdout
    assert "00:00 mark     the first note" in got and "00:01 info     users 20 by key" in got, got
    got = dump("--view", "log", "--at", "1").stdout
    assert "the first note" in got and "by key" not in got, got


# ---- figures against the database ----

UNITS = {"": 1, "%": 0.01, "us": 1e-3, "ms": 1, "s": 1e3, "ns": 1e-6, "m": 6e4, "k": 1e3, "M": 1e6, "B/s": 1,
         "KiB/s": 2**10, "MiB/s": 2**20, "GiB/s": 2**30}
SHORT = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "": 1}
CELL = re.compile(r"(\S+(?: (?:%s))?)$" % "|".join(unit for unit in UNITS if unit))


def agrees(text, value, units=None):
    """Whether a figure says the value, to the digits that it has."""
    if text in ("--", "-"):
        return value is None
    found = re.fullmatch(r"([\d.]+) ?(\S*)", text)
    if value is None or not found:
        return False
    scale = (units or UNITS)[found.group(2)]
    decimals = len(found.group(1).partition(".")[2])
    return abs(float(found.group(1)) * scale - value) <= 0.51 * scale * 10 ** -decimals


class Table:
    """Rows under right-aligned headings: the cell of a row ends where its heading does."""

    def __init__(self, picture, heading):
        self.lines = picture.split("\n")
        at = [number for number, line in enumerate(self.lines) if re.search(heading, line)]
        assert len(at) == 1, (heading, picture)
        self.at, self.heading = at[0], self.lines[at[0]]

    def line(self, row, after=0):
        return next(line for line in self.lines[self.at + 1:] if line[after:].startswith(row))

    def cell(self, row, name, after=0):
        line = self.line(row, after)
        end = self.heading.index(name, after) + len(name)
        found = CELL.search(line[:end])
        assert found, (row, name, line)
        return found.group(1)

    def expect(self, row, name, value, after=0, units=None):
        text = self.cell(row, name, after)
        assert agrees(text, value, units), "%s %s: shown %s, stored %s\n%s" % (row, name, text, value,
                                                                             "\n".join(self.lines))


def check_tiers(picture, whole):
    table = Table(picture, "used/usable")
    length_s = whole["length_s"]
    tiers = rows("SELECT * FROM tier_intervals WHERE run_id = 1 AND seq = ?", whole["seq"])
    assert {one["tier"] for one in tiers} == {"gpu", "cpu", "nvme"}
    for one in tiers:
        row = " " + one["tier"]
        used, usable = re.search(r" % +(\S+)/(\S+)", table.line(row)).groups()
        assert agrees(re.sub(r"(\D)$", r" \1", used), one["used_bytes"], SHORT), (used, one["used_bytes"])
        assert agrees(re.sub(r"(\D)$", r" \1", usable), one["capacity_bytes"], SHORT), (usable, one["capacity_bytes"])
        for name, field in (("r P50", "read_p50_ms"), ("r P95", "read_p95_ms"), ("r P99", "read_p99_ms"),
                            ("w P50", "write_p50_ms"), ("w P95", "write_p95_ms"), ("w P99", "write_p99_ms"),
                            ("entries", "entries"), ("in flight", "io_in_flight")):
            table.expect(row, name, one[field])
        for name, field in (("read", "read_bytes"), ("write", "write_bytes"), ("hits/s", "hits"),
                            ("rises/s", "promotions")):
            table.expect(row, name, one[field] / length_s)
        table.expect(row, "falls/s", (one["demotions"] + one["evictions"]) / length_s)
        table.expect(row, "full", one["used_bytes"] / one["capacity_bytes"])


def check_latencies(picture, whole):
    table = Table(picture, r"^ Latency +P50")
    for row, name in (("e2e", "e2e"), ("ttft", "ttft"), ("wait", "queue_wait"), ("storage", "storage_io")):
        for level, field in (("P50", "p50"), ("P95", "p95"), ("P99", "p99"), ("P99.9", "p999")):
            table.expect(" " + row, level, whole["%s_%s_ms" % (name, field)])


def check_classes(picture, whole):
    table = Table(picture, r"^ Class ")
    classes = rows("SELECT * FROM qos_intervals WHERE run_id = 1 AND seq = ?", whole["seq"])
    assert len(classes) == 3
    for one in classes:
        row = one["class"]
        for name, field in (("waiting", "queued"), ("in service", "in_service_now"), ("SLO met", "met_ratio"),
                            ("P50", "ttft_p50_ms"), ("ttft P95", "ttft_p95_ms"), ("oldest", "oldest_wait_ms")):
            table.expect(row, name, one[field], 1)
        table.expect(row, "active", one["queued"] + one["in_service_now"], 1)
        table.expect(row, "past target", one["overdue"], 1)


@case("the figures of a moment are those of its rows in the database")
def _():
    finished()
    with sqlite3.connect(database()) as db:  # as an older version stored it: a moment is one interval
        db.execute("DELETE FROM interval_windows")
    for t_s in (0.5, 1, 1.75):
        want = interval_at(t_s)
        assert want["done"] > 0, want
        picture = dump("--at", "0:0%g" % t_s, "--size", "200x60").stdout
        check_tiers(picture, want)
        check_latencies(picture, want)
        check_classes(picture, want)
        in_flight = rows("SELECT sum(io_in_flight) AS n FROM tier_intervals WHERE seq = ?", want["seq"])[0]["n"]
        for words, value in ((r"Throughput +([\d.]+k?) tok/s", want["throughput_tok_s"]),
                             (r"Hit ratio +([\d.]+ %)", want["reuse_hit_ratio"]), (r"I/O in flight +(\S+) ", in_flight),
                             (r"Requests +([\d.]+k?)/s", want["requests_per_s"]), (r"^ Users (\d+) ", want["users"]),
                             (r"slots in use (\d+) of", want["in_service_now"]),
                             (r"slots in use \d+ of (\d+)", want["slots"])):
            found = re.search(words, picture, re.MULTILINE)
            assert found and agrees(found.group(1), value), (words, value, found, picture)


@case("the figures of a finished run are its results")
def _():
    finished()
    picture = dump("--size", "200x60").stdout
    value = {row["metric"]: row["value"] for row in rows("SELECT * FROM results")}
    table = Table(picture, r"^ Latency +P50")
    for row, name in (("e2e", "e2e"), ("ttft", "ttft"), ("wait", "queue_wait"), ("storage", "storage_io")):
        for level, field in (("P50", "p50"), ("P95", "p95"), ("P99", "p99"), ("P99.9", "p999")):
            table.expect(" " + row, level, value["%s_%s_ms" % (name, field)])
    tiers = Table(picture, "used/usable")
    for tier in ("gpu", "cpu", "nvme"):
        tiers.expect(" " + tier, "entries", value[tier + "_entries"])
        tiers.expect(" " + tier, "r P95", value[tier + "_read_p95_ms"])
        tiers.expect(" " + tier, "w P95", value[tier + "_write_p95_ms"])
    verdict = picture.rstrip("\n").split("\n")[-1]
    found = re.match(r" completed +(\S+) tok/s +e2e P95 (\S+ \S+) +hits (\S+ %)", verdict)
    assert found, verdict
    assert agrees(found.group(1), value["throughput_tok_s"]), (verdict, value["throughput_tok_s"])
    assert agrees(found.group(2), value["e2e_p95_ms"]) and agrees(found.group(3), value["reuse_hit_ratio"]), verdict


# ---- runs that are not over, or ended badly ----

def newest_s():
    return rows("SELECT max(t_s) AS t FROM intervals")[0]["t"]


def stored(least):
    def there():
        try:
            return rows("SELECT count(*) AS n FROM intervals")[0]["n"] >= least
        except sqlite3.Error:
            return False
    wait_until(there, what="%d intervals in the database" % least)


@case("a run that goes on: RUNNING, at the run time of the newest interval in the database")
def _():
    process = start({"run.duration": "60s", "run.interval": "500ms"})
    stored(1)
    for least in (2, 4):
        stored(least)
        before_s = newest_s()
        line = title()
        after_s = newest_s()
        assert line.endswith("RUNNING"), line
        assert before_s - 0.11 < clock(line) < after_s + 0.02, (before_s, line, after_s)
    assert title("--at", "0").endswith("LOOKING BACK")
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert finish(process).rc == 143
    assert title().endswith("INTERRUPTED") and "stopped by SIGTERM" in dump("--size", "200x30").stdout


@case("a run in its warm-up says so")
def _():
    process = start({"run.duration": "60s", "run.warmup": "60s", "run.interval": "100ms"})
    stored(2)
    line = title()
    assert line.endswith("WARM-UP") and " / 02:00 " in line, line
    process.send_signal(signal.SIGINT)
    finish(process)


@case("a run that was killed is CRASHED, what it has stored is there, and nothing is written")
def _():
    process = start({"run.duration": "60s", "run.interval": "100ms"})
    stored(12)
    process.kill()
    process.wait()
    assert title().endswith("CRASHED"), title()
    assert title("--at", "0:01").endswith("LOOKING BACK") and abs(clock(title("--at", "0:01")) - 1) < 0.15
    for view in VIEWS:
        assert "CRASHED" in dump("--view", view).stdout
    assert last_run()["status"] == "running"  # the next run marks it, a reader does not


@case("a run that never got to its first interval: what there is of it, and no moment to look at")
def _():
    process = start({"run.duration": "60s", "workload.phase": "decode", "workload.users": 100000,
                     "tiers.nvme.capacity": "1GiB"})
    wait_until(lambda: list((home() / "work").glob("kvfall-*/*/*.kv")), what="an entry on the disk")
    line = title()
    assert line.endswith("PREPARING") and "--:--" in line, line
    process.send_signal(signal.SIGINT)
    assert finish(process).rc == 130
    for view in VIEWS:
        assert "INTERRUPTED" in dump("--view", view).stdout
    got = run(["watch", "--dump", "--at", "1"])
    assert (got.rc, got.stdout) == (2, "") and "the run has no stored interval to show" in got.stderr, got


# ---- the database under it ----

@case("a database that another process keeps locked for a second is waited for")
def _():
    finished()
    rollback_journal()
    want = dump().stdout, dump("--at", "1").stdout
    assert want[0].split("\n")[0].endswith("COMPLETED"), want[0]
    for args, picture in zip(((), ("--at", "1")), want):
        locked, done = threading.Event(), threading.Event()

        def lock():
            keeper = sqlite3.connect(database(), isolation_level=None)
            keeper.execute("BEGIN EXCLUSIVE")
            locked.set()
            done.wait(1)
            keeper.execute("ROLLBACK")
            keeper.close()

        thread = threading.Thread(target=lock)
        thread.start()
        assert locked.wait(10)
        got = dump(*args)
        done.set()
        thread.join()
        assert got.stdout == picture and got.stderr == "", got


@case("a writer that commits all the time does not hinder a dump, in either journal mode")
def _():
    finished()
    for mode in ("wal", "delete"):
        connection = sqlite3.connect(database(), isolation_level=None, timeout=10)
        assert connection.execute("PRAGMA journal_mode=%s" % mode).fetchone()[0] == mode
        connection.close()
        want, done = dump().stdout, threading.Event()

        def write_on():
            keeper = sqlite3.connect(database(), isolation_level=None, timeout=10)
            while not done.wait(0.002):
                keeper.execute("UPDATE runs SET tags = tags || 'x'")
            keeper.close()

        thread = threading.Thread(target=write_on)
        thread.start()
        try:
            for _ in range(3):
                assert dump().stdout == want
        finally:
            done.set()
            thread.join()


@case("the dump leaves the history as it was")
def _():
    finished()
    before = rows("SELECT * FROM runs"), rows("SELECT count(*) AS n FROM intervals"), tree(home() / "work")
    for view in VIEWS:
        dump("--view", view, "--at", "1")
    assert before == (rows("SELECT * FROM runs"), rows("SELECT count(*) AS n FROM intervals"), tree(home() / "work"))
    assert {path.name for path in database().parent.iterdir()} <= {"history.db", "history.db-wal", "history.db-shm"}


@case("another database by --db and by KVFALL_DB")
def _():
    finished()
    other = home() / "work/other.db"
    shutil.move(database(), other)
    want = dump("--db", other).stdout
    assert want.split("\n")[0].endswith("COMPLETED")
    assert dump(env={"KVFALL_DB": str(other)}).stdout == want
    assert not database().exists()


# ---- what is refused ----

@case("usage errors of watch: one sentence, exit status 2, nothing made")
def _():
    finished()
    rollback_journal()
    for args, *words in (
            (["--view", "no-such"], "there is no view \"no-such\"; the views are overview, tiers, latency, queue, "
             "autoscaler, system, requests, log, hosts, pods, numbers, evidence, help"),
            (["--size", "80"], "--size is columns x rows", "not \"80\""),
            (["--size", "0x10"], "--size is columns x rows"), (["--size", "10x0"], "--size is columns x rows"),
            (["--size", "1001x10"], "--size is columns x rows"), (["--size", "80x501"], "--size is columns x rows"),
            (["--size", "80x24x1"], "--size is columns x rows"), (["--size", "wide"], "--size is columns x rows"),
            (["--size", " 80x24"], "--size is columns x rows"), (["--size", "80x+24"], "--size is columns x rows"),
            (["--size", ""], "--size is columns x rows"),
            (["--at", "soon"], "--at is a run time such as 00:42, 1:02:07 or 90s, not \"soon\""),
            (["--at", "1:99"], "--at is a run time"), (["--at", "-5"], "--at is a run time"),
            (["--at", ""], "--at is a run time"), (["--at", "1:2:3:4"], "--at is a run time"),
            (["--at", "0:01.5.2"], "--at is a run time"), (["--at", "nan"], "--at is a run time"),
            (["99"], "there is no run '99'", "it holds runs 1 to 1 (small)"),
            (["no-such-run"], "there is no run 'no-such-run'"),
            (["latest~1"], "there is no run 'latest~1'"),
            (["1", "2"], "watch takes 1 argument at most"),
            (["--theme", "foo"], "--theme is dark, light, mono, colour-blind or colour-blind-light, not \"foo\""),
            (["--no-such"], "watch has no option --no-such")):
        got = refused(["watch", "--dump", *args], *words)
        assert got.stderr.count("\n") == 1, got


@case("without a terminal there is nothing to watch on: --size needs --dump, and dump is offered")
def _():
    finished()
    refused(["watch", "--size", "80x24"], "--size is for --dump; the screen has the size of its terminal")
    for args in ([], ["latest"], ["--at", "1"]):
        refused(["watch", *args], "standard output is not a terminal", "--dump prints the screen as plain text")


@case("no database, an empty one, one without runs, and what is no database: a sentence each, nothing made")
def _():
    refused(["watch", "--dump"], "there is no history database '%s' yet" % database(), "'kvfall run' creates it")
    refused(["watch", "--dump", "--db", home()], "is a folder, not a history database")
    empty = home() / "work/empty.db"
    empty.write_bytes(b"")
    refused(["watch", "--dump", "--db", empty], "is empty")
    other = home() / "work/other.db"
    other.write_bytes(b"something else " * 1000)
    got = run(["watch", "--dump", "--db", other])
    assert got.rc != 0 and got.stdout == "" and str(other) in got.stderr, got
    finished()
    connection = sqlite3.connect(database())
    for table in [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]:
        connection.execute("DELETE FROM %s" % table)
    connection.commit()
    connection.close()
    rollback_journal()
    refused(["watch", "--dump"], "holds no runs yet")


@case("run and watch refuse a theme that is none before anything is made")
def _():
    path = write()
    refused(["run", path, "--theme", "foo"], "--theme is dark, light, mono, colour-blind or colour-blind-light, not \"foo\"")
    refused(["run", path, "--headless", "--theme", ""], "--theme is dark, light, mono, colour-blind or colour-blind-light")
    refused(["watch", "--theme", "foo", "--dump"], "--theme is dark, light, mono, colour-blind or colour-blind-light, not \"foo\"")


@case("an output that takes nothing: exit status 1 with a sentence")
def _():
    finished()
    with open("/dev/full", "w") as full:
        got = finish(spawn(["watch", "--dump"], stdout=full))
    assert got.rc == 1 and got.stderr.endswith("to standard output: No space left on device\n"), got


# ---- keys ----

@case("help keys lists every key of the screen with what it does")
def _():
    got = run(["help", "keys"])
    assert (got.rc, got.stderr) == (0, ""), got
    table = (SOURCE / "ui/keyboard.c").read_text()
    table = table[table.index("keyboard[] = {"):table.index("\n};")]
    entries = re.findall(r'\{[^"]*?"((?:\\.|[^"])+)", ACTION_\w+, [^,]+, (NULL|"(?:\\.|[^"])*")\}', table)
    assert len(entries) > 40, entries
    for name, text in entries:
        name = name.replace("\\\\", "\\")
        if text == "NULL":  # one more key for the same
            assert re.search(r"^  .*, %s " % re.escape(name), got.stdout, re.MULTILINE), (name, got)
        else:
            line = r"^  %s(, \S+)*  +%s$" % (re.escape(name), re.escape(text[1:-1]))
            assert re.search(line, got.stdout, re.MULTILINE), (name, text, got)
    assert max(map(len, got.stdout.splitlines())) <= 80, got


main()
