#!/usr/bin/env python3
"""Scrapes of a run that goes on: what they say, who may ask, and that nobody who asks disturbs the run."""
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import urllib.parse

from exposition import Scrape, request, scrape, scrape_after, serving
from runs import healthy, last_run, refused, rows, start, write
from tap import KVFALL, SOURCE, Skip, case, finish, main, need_tool, run, spawn, wait_until

LONG = {"run.duration": "60s"}
PLACES = 32  # clients at a time
PLACES_OF_ADDRESS = 8
WORKERS = 2  # of the small scenario
CLOSED = (ConnectionResetError, BrokenPipeError)


def begin(changes=None, *options, **how):
    """A run of the small scenario that answers; (process, port)."""
    process = start({**LONG, **(changes or {})}, "--quiet", "--metrics", "127.0.0.1:0", *options, **how)
    return process, serving(process)


def leave(process):
    """SIGINT, and the run ends as ever."""
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and healthy(), got
    return got


def descriptors(process):
    """What its descriptors lead to; they come and go meanwhile."""
    found = set()
    for name in os.listdir("/proc/%d/fd" % process.pid):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink("/proc/%d/fd/%s" % (process.pid, name)))
    return found


def connect(port, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0))


def received(client):
    """All that comes until the other side closes."""
    text = b""
    with contextlib.suppress(*CLOSED):
        while part := client.recv(65536):
            text += part
    return text.decode("latin-1")


def raw(port, data):
    """What comes back for these bytes, until the other side closes."""
    with connect(port) as client:
        with contextlib.suppress(*CLOSED):
            client.sendall(data)
        return received(client)


def between(count):
    """How far a counter and its histogram may be apart: they are read one after the other while the workers go on, and
    one reading takes tens of milliseconds under a sanitizer."""
    return WORKERS + 20 + 0.02 * count


def check_against_database(got):
    """Every count is the sum over the intervals that it says it has taken in."""
    taken = got.value("kvfall_run_intervals_total")
    run_id = int(next(iter(dict(one)["run_id"] for one in got.series("kvfall_run_info"))))

    def summed(table, what, **where):
        clauses = "".join(" AND %s = '%s'" % pair for pair in where.items())
        sql = "SELECT sum(%s) AS n FROM %s WHERE run_id = ? AND seq < ?%s" % (what, table, clauses)
        return rows(sql, run_id, taken)[0]["n"]

    assert rows("SELECT count(*) AS n FROM intervals WHERE run_id = ? AND seq < ?", run_id, taken)[0]["n"] == taken
    for metric, labels, column in (
            ("requests_arrived_total", {}, "arrived"), ("requests_ended_total", {"outcome": "done"}, "done"),
            ("requests_ended_total", {"outcome": "failed"}, "failed"),
            ("requests_ended_total", {"outcome": "dropped"}, "dropped"), ("generated_tokens_total", {}, "tokens"),
            ("cache_writes_refused_total", {}, "refused")):
        assert got.value("kvfall_" + metric, **labels) == summed("intervals", column), (metric, labels)
    assert got.total("kvfall_cache_lookups_total") == summed("intervals", "lookups") > 0
    assert got.total("kvfall_cache_hits_total") == summed("intervals", "hits") > 0
    assert got.total("kvfall_cache_lookups_total") == (got.total("kvfall_cache_hits_total")
                                                       + got.total("kvfall_cache_misses_total"))
    assert abs(got.total("kvfall_run_seconds_total") - summed("intervals", "length_s")) < 1e-6
    done = summed("intervals", "done")
    assert abs(got.value("kvfall_request_e2e_seconds_count") - done) <= between(done)
    mean_s = summed("intervals", "e2e_mean_ms * done") / 1000
    slowest_s = rows("SELECT max(e2e_mean_ms) AS n FROM intervals WHERE run_id = ? AND seq < ?", run_id, taken)[0]["n"] / 1000
    assert abs(got.value("kvfall_request_e2e_seconds_sum") - mean_s) < 0.02 * mean_s + between(done) * slowest_s, mean_s
    for tier in ("gpu", "cpu", "nvme"):
        assert got.total("kvfall_cache_hits_total", tier=tier) == summed("tier_intervals", "hits", tier=tier)
        for what in ("evictions", "demotions", "promotions"):
            assert got.value("kvfall_cache_%s_total" % what, tier=tier) == summed("tier_intervals", what, tier=tier)
        for way in ("read", "write"):
            part = {"tier": tier, "direction": way}
            ops = summed("tier_intervals", way + "_ops", tier=tier)
            assert got.total("kvfall_tier_operations_total", **part) == ops, part
            timed = got.value("kvfall_tier_operation_seconds_count", **part)
            assert abs(timed - ops) <= between(ops), (part, timed, ops)
            assert (got.total("kvfall_tier_transferred_bytes_total", **part)
                    == summed("tier_intervals", way + "_bytes", tier=tier)), part
    for one in rows("SELECT tier, dir, cause, sum(ops) AS ops, sum(bytes) AS bytes FROM cause_intervals WHERE "
                    "run_id = ? AND seq < ? GROUP BY tier, dir, cause", run_id, taken):
        part = {"tier": one["tier"], "direction": one["dir"], "cause": one["cause"]}
        assert got.value("kvfall_tier_operations_total", **part) == one["ops"], one
        assert got.value("kvfall_tier_transferred_bytes_total", **part) == one["bytes"], one
    for one in rows("SELECT class, sum(arrived) AS arrived, sum(done) AS done, sum(violations) AS beyond FROM "
                    "qos_intervals WHERE run_id = ? AND seq < ? GROUP BY class", run_id, taken):
        part = {"class": one["class"]}
        assert got.value("kvfall_class_requests_arrived_total", **part) == one["arrived"], one
        assert got.value("kvfall_class_requests_ended_total", outcome="done", **part) == one["done"], one
        assert got.value("kvfall_class_slo_violations_total", **part) == one["beyond"], one


@case("a scrape of a run that goes on: counters are the sums over its intervals, gauges those of the newest")
def _():
    process, port = begin()
    early, late = scrape_after(port, 2), scrape_after(port, 5)
    text = scrape(port, openmetrics=False)
    assert late.value("kvfall_run_phase", phase="measured") == 1 and late.value("kvfall_run_status", status="running") == 1
    assert late.value("kvfall_users") == 6 and late.value("kvfall_run_paused") == 0
    assert late.value("kvfall_tier_used_bytes", tier="cpu") <= late.value("kvfall_tier_capacity_bytes", tier="cpu")
    for name, family in early.families.items():
        if "interval_" in name and name not in late.families:
            continue  # an interval in which no request ended has no latency
        assert late.families[name].type == family.type, name
        if family.type not in ("counter", "histogram"):
            continue
        for suffix in {suffix for suffix, _, _ in family.samples}:
            after = late.series(name + suffix)
            assert all(value <= after[labels] for labels, value in early.series(name + suffix).items()), name
    # the older form says the same under the same names
    assert text.names() >= late.names() - {name for name in late.names() if "interval_" in name}
    leave(process)
    about = last_run()
    names = [dict(one) for one in late.series("kvfall_run_info")]
    assert [(one["name"], one["uuid"], one["run_id"]) for one in names] == [("small", about["uuid"], "1")], names
    check_against_database(early)
    check_against_database(late)
    check_against_database(text)


@case("quantiles and gauges are those of the interval that the database has")
def _():
    process, port = begin({"run.interval": "500ms"})
    # sums are put out before the snapshot that they end with, and neither waits for the other: beside the sums
    # of the first interval there may still be the look at the preparation, which is no interval
    got = scrape_after(port, 3)
    leave(process)
    taken = got.value("kvfall_run_intervals_total")
    near = rows("SELECT * FROM intervals WHERE run_id = 1 AND seq BETWEEN ? AND ?", taken - 4, taken + 4)
    gauges = (("kvfall_users", "users"), ("kvfall_slots", "slots"), ("kvfall_cache_hit_ratio", "hit_ratio"),
              ("kvfall_process_resident_memory_bytes", "rss_bytes"))

    def differing(one):
        found = [name for name, column in gauges if got.value(name) != one[column]]
        for name in ("e2e", "ttft", "queue_wait", "storage_io"):
            for quantile, column in (("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99"), ("0.999", "p999")):
                stored = one["%s_%s_ms" % (name, column)]
                seen = got.value("kvfall_interval_%s_seconds" % name, quantile=quantile)
                if (seen is None) != (stored is None) or (seen is not None and abs(seen - stored / 1e3) >= 1e-12):
                    found.append("%s %s" % (name, column))
        return found

    assert any(not differing(one) for one in near), [(one["seq"], differing(one)) for one in near]


@case("promtool finds nothing to complain about")
def _():
    promtool = need_tool("promtool")
    process, port = begin()
    scrape_after(port, 3)
    status, _, text = request(port)
    assert status == 200
    said = subprocess.run([promtool, "check", "metrics"], input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    assert (said.returncode, said.stdout) == (0, b""), said.stdout.decode()
    leave(process)


@case("every family has the labels that kvfall-export(5) names, or some of them")
def _():
    text = (SOURCE / "man/kvfall-export.5").read_text()
    documented = {name: (kind, set(re.findall(r"\w+", labels or ""))) for name, kind, labels in re.findall(
        r"^\.It Va (kvfall_\w+) Pq (\w+)(?: by (.*))?$", text, re.MULTILINE)}
    process, port = begin()
    scrape_after(port, 3)
    got = scrape(port, openmetrics=False)
    assert len(got.families) > 60, sorted(got.families)
    for name, family in got.families.items():
        kind, labels = documented[name]
        assert family.type == ("gauge" if kind == "info" else kind), (name, family.type, kind)
        seen = set().union(*(sample for _, sample, _ in family.samples))
        assert seen == labels or (kind == "info" and seen <= labels), (name, seen, labels)
    leave(process)


@case("a simulation: on its virtual clock, and nothing of this machine is said of it")
def _():
    process, port = begin({"mode": "simulate", "run.duration": "100h", "run.interval": "1s", "run.speed": 20,
                           "tiers.gpu": {"capacity": "2MiB"}})
    got = scrape_after(port, 20)
    leave(process)
    check_against_database(got)
    assert got.value("kvfall_run_simulation_seconds") < got.total("kvfall_run_seconds_total")
    absent = [name for name in got.names() if re.match("kvfall_(process|workers|host|device)_", name)]
    assert absent == [], absent


@case("paths, methods and forms")
def _():
    process, port = begin()
    status, headers, body = request(port, "/")
    assert status == 200 and body == "kvfall: the metrics of the run are at /metrics\n", body
    assert headers["Content-Type"].startswith("text/plain")
    assert request(port, "/metrics/")[0] == request(port, "/favicon.ico")[0] == request(port, "/..%2fmetrics")[0] == 404
    assert request(port, "/metrics?name[]=x")[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"):
        status, headers, _ = request(port, method=method)
        assert status == 405 and headers["Allow"] == "GET, HEAD", (method, status, headers)
    status, headers, body = request(port, method="HEAD")
    assert status == 200 and body == "" and int(headers["Content-Length"]) > 100, (status, headers)
    Scrape(raw(port, b"GET /metrics HTTP/1.0\r\n\r\n").split("\r\n\r\n", 1)[1], False)
    leave(process)


@case("a name that is made to break the text is one label")
def _():
    name = 'a"} 1 kvfall_users{b="c\\'
    process, port = begin({"name": name})
    for got in (scrape_after(port, 1), scrape(port, openmetrics=False)):
        assert [dict(one)["name"] for one in got.series("kvfall_run_info")] == [name]
        assert got.value("kvfall_users") == 6
    leave(process)


@case("trials: one listener, the counters of each begin anew, and nothing of the one before is shown")
def _():
    # as many requests as fit into a quarter of a second or so, three times
    process, port = begin({"run.trials": 3, "run.duration": "500ms"})
    uuids, most = {}, {}
    with contextlib.suppress(OSError, http.client.HTTPException):  # until the last one has ended
        while True:
            got = scrape(port)
            info = dict(next(iter(got.series("kvfall_run_info"))))
            uuids[info["trial"]] = info["uuid"]
            assert info["trials"] == "3" and info["run_id"] == info["trial"], info
            taken = got.value("kvfall_run_intervals_total")
            if taken is not None:
                assert taken >= most.get(info["trial"], 0), (info, taken, most)
                most[info["trial"]] = taken
                assert taken <= 10, "those of an earlier trial are in it"
    assert finish(process).rc == 0
    stored = {str(one["trial"]): one["uuid"] for one in rows("SELECT trial, uuid FROM runs")}
    # one may have gone by between two scrapes where the machine is busy
    assert set(uuids.items()) <= set(stored.items()) and len(stored) == 3 and len(uuids) > 1, (uuids, stored)


@case("addresses: a port alone, of any host, of IPv6; what is taken is said and an event")
def _():
    for address, host in ((":0", "127.0.0.1"), ("0", "127.0.0.1"), ("localhost:0", None), ("[::1]:0", "::1")):
        if host == "::1":
            try:
                socket.socket(socket.AF_INET6).bind(("::1", 0))
            except OSError as error:
                raise Skip("no IPv6 here: %s" % error) from None
        process = start(LONG, "--quiet", "--metrics", address)
        line = process.stderr.readline().decode()
        url = urllib.parse.urlsplit(line.split(" at ", 1)[1].strip())
        assert url.hostname == host or host is None, line
        scrape_after(url.port, 1, host=url.hostname)
        leave(process)
        events = [(one["level"], one["message"]) for one in rows(
            "SELECT level, message FROM events WHERE run_id = (SELECT max(run_id) FROM runs)")]
        assert ("info", "metrics are served at " + url.geturl()) in events, events


@case("an address that other machines may reach is served and warned about")
def _():
    alone = [need_tool("unshare"), "--user", "--map-root-user", "--net"]  # nobody can reach this one
    if subprocess.run(alone + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise Skip("no network namespace to be had")
    got = finish(spawn(alone[1:] + [KVFALL, "run", "--headless", "--quiet", write(),
                                    "--metrics", "0.0.0.0:0"], program=alone[0]))
    assert got.rc == 0, got
    assert re.search(r"^kvfall: metrics at http://0\.0\.0\.0:\d+/metrics\n"
                     r"kvfall: warning: anyone on the network can read them$", got.stderr, re.M), got
    events = rows("SELECT level, message FROM events")
    assert any(one["level"] == "warning" and re.fullmatch(
        r"metrics are served at http://0\.0\.0\.0:\d+/metrics, to everybody who can reach this machine",
        one["message"]) for one in events), events


@case("an address that cannot be had is refused before anything is made")
def _():
    path = write()
    options = ["run", "--headless", "--json", "out.json", path, "--metrics"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        got = refused(options + [address], "--metrics %s: another program listens there" % address)
        assert got.stderr.count("\n") == 1, got
    wrong = "--metrics takes HOST:PORT, [IPV6]:PORT or PORT, such as 127.0.0.1:9464, not "
    for address in ("", ":", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:9 ",
                    "127.0.0.1:0x50", "::1:9464", "[::1]", "[::1:9464", "[]:9464", "localhost:http", "1:2:3"):
        got = refused(options + [address], '%s"%s"' % (wrong, address))
        assert got.stderr.count("\n") == 1, got
    refused(options + ["256.1.1.1:9464"], "--metrics 256.1.1.1:9464: there is no host 256.1.1.1")
    refused(options + ["192.0.2.1:9464"], "--metrics 192.0.2.1:9464: this machine does not have that address")
    got = run(["check", path, "--metrics", "0"])
    assert got.rc == 2 and "--metrics" in got.stderr, got


@case("what is no request gets an answer or none, and the run goes on")
def _():
    process, port = begin()
    line = b"GET /metrics HTTP/1.1\r\n"
    for data in (b"garbage\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(200), b"GET " + b"/" * 100000,
                 line + b"A: " + b"x" * 100000 + b"\r\n\r\n", line + b"A: b\r\n" * 20000 + b"\r\n",
                 line + b"Host: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                 line + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
                 b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100000,
                 line + b"Host: a\r\nAccept: " + b",;=\"" * 1000 + b"\r\n\r\n", os.urandom(20000)):
        with connect(port) as client:
            with contextlib.suppress(OSError):  # it may have been closed already
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            got = received(client)
        assert got == "" or re.match(r"HTTP/1\.[01] (200|400|404|405|413|414|431|501|505) ", got), (data[:80], got[:200])
    for _ in range(50):  # gone before the answer, and another client than the one that is answered
        with connect(port, "127.0.0.2") as client, contextlib.suppress(*CLOSED):
            client.sendall(line + b"Host: a\r\n\r\n")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    scrape_after(port, 3)
    leave(process)


@case("who holds connections has few of them and a short time, and the end of a run waits for nobody")
def _():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, hard), hard))
    process, port = begin()
    scrape_after(port, 1)
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(port, "127.0.0.%d" % (2 + n // PLACES_OF_ADDRESS))) for n in range(PLACES)]
        for client in slow[3:]:  # a request that never comes to its end
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")
        slow[0].sendall(b"\r\n")
        slow[1].sendall(b"\0" * 5000)
        slow[1].shutdown(socket.SHUT_WR)

        def drips():
            for client in slow[3:]:
                with contextlib.suppress(OSError):
                    client.sendall(b"A: b\r\n")
            try:
                status, _, _ = request(port)
                return status == 200
            except (OSError, http.client.HTTPException):
                return False
        wait_until(drips, 30, "an answer beside clients that send a line now and then")

        def one_more():
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))

        def some_have_places():
            one_more()
            sockets = [one for one in descriptors(process) if one.startswith("socket:")]
            assert len(sockets) <= PLACES + 1, sockets  # one listens
            return len(sockets) > 1
        for _ in range(500):
            one_more()
        wait_until(some_have_places, 30, "a place for one of many")
        leave(process)  # while they all are there
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert last_run()["status"] == "interrupted" and rows("SELECT count(*) AS n FROM results")[0]["n"] > 0


def is_open(client):
    """Whether the other side still holds it; nothing comes that was not asked for."""
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@case("97 connections of one address take a few places, and another address is answered beside them")
def _():
    process, port = begin()
    scrape_after(port, 1)

    def beside():
        with contextlib.ExitStack() as stack:
            greedy = [stack.enter_context(connect(port, "127.0.0.2")) for _ in range(97)]
            with connect(port, "127.0.0.1") as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
                assert received(client).startswith("HTTP/1.1 200 "), "no answer beside 97 connections of another address"
            held = sum(is_open(one) for one in greedy)
            assert held <= PLACES_OF_ADDRESS, held
            return held  # none where all that took longer than they may stay
    wait_until(beside, 60, "an answer while the others still hold their places")
    leave(process)


@case("signals reach the run, not the thread that answers; the port is free when it has ended")
def _():
    process, port = begin()
    scrape_after(port, 1)
    tasks = {}
    for task in os.listdir("/proc/%d/task" % process.pid):
        with open("/proc/%d/task/%s/status" % (process.pid, task)) as status:
            fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
            tasks[fields["Name"]] = int(fields["SigBlk"], 16)
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH, signal.SIGCHLD):
        assert tasks["kvfall-metrics"] & (1 << (one - 1)), tasks
    leave(process)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


@case("without --metrics nobody listens")
def _():
    process = start(LONG, "--quiet")
    def running():
        with contextlib.suppress(sqlite3.Error):  # the database is not there yet
            return rows("SELECT count(*) AS n FROM intervals")[0]["n"] > 0
    wait_until(running, what="an interval")
    with open("/proc/%d/net/tcp" % process.pid) as table:
        listening = {line.split()[9] for line in table.read().splitlines()[1:] if line.split()[3] == "0A"}
    assert not descriptors(process) & {"socket:[%s]" % inode for inode in listening}, listening
    names = [open("/proc/%d/task/%s/comm" % (process.pid, task)).read().strip()
             for task in os.listdir("/proc/%d/task" % process.pid)]
    assert "kvfall-metrics" not in names, names
    leave(process)


main()
