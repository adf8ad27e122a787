#!/usr/bin/env python3
"""One run over several processes that MPI starts on this machine: the requests of one process dealt out, one record
of the whole, and ends that reach everybody."""
import contextlib
import ctypes
import json
import math
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time

import servers
from runs import check_identities, last_run, other_ranks, result, rows, start, unwrapped, write
from tap import BUILD, KVFALL, Skip, case, database, environment, finish, home, main, run, spawn, wait_until

OF_A_REQUEST = ("id", "class", "phase", "conversation", "turn", "context_tokens", "generate_tokens")
LONG = bool(os.environ.get("KVF_TESTS_LONG"))
SHARED = {"run": {"duration": "60s", "warmup": "0s", "interval": "100ms", "max_requests": 96}, "workload.users": 10}


def need_mpi():
    if not (BUILD / "kvfall-mpi.so").exists():
        raise Skip("this build has no plugin for MPI: %s" % next(
            line.strip() for line in run(["--version"]).stdout.splitlines() if "mpi" in line))


def together(ranks, changes=None, *options):
    """A run of that many processes: its JSON, and the requests that each rank has logged."""
    need_mpi()
    work = home() / "work"
    for old in work.glob("log*"):
        old.unlink()
    more = ["--ranks", ranks] if ranks > 1 else []
    got = finish(start({**SHARED, **(changes or {})}, *more, "--json", work / "out.json", "--request-log", work / "log.jsonl",
                       *options))
    assert got.rc == 0, got
    names = ["log-rank%d.jsonl" % rank for rank in range(ranks)] if ranks > 1 else ["log.jsonl"]
    logs = [[json.loads(line) for line in (work / name).read_text().splitlines()] for name in names]
    return json.loads((work / "out.json").read_text()), logs


def asked(logs):
    return sorted(json.dumps([line[part] for part in OF_A_REQUEST]) for log in logs for line in log)


@case("two processes share one run: one summary, one record, the requests of one process")
def _():
    alone, whole = together(1)
    summary, logs = together(2)
    check_identities(summary)
    assert asked(logs) == asked(whole), "other requests"
    assert all(logs), "a rank had none"
    assert result(summary, "ranks") == 2 and result(summary, "rank_hosts") == 1 and result(summary, "ranks_lost") == 0
    assert result(summary, "requests_done") == 96 == sum(map(len, logs)), summary["results"]["requests_done"]
    assert result(summary, "tokens_generated") == sum(line["generate_tokens"] for log in logs for line in log)
    for name, part in (("e2e", "e2e_ms"), ("ttft", "ttft_ms"), ("queue_wait", "queue_ms"), ("storage_io", "storage_ms")):
        of_all = sorted(line[part] for log in logs for line in log)
        for word, q in (("p50", 0.5), ("p95", 0.95)):
            at = math.ceil(q * len(of_all)) - 1
            exact, got = of_all[at], result(summary, "%s_%s_ms" % (name, word))
            assert abs(got - exact) <= exact / 64 + 1e-6, (name, word, got, of_all[at - 2:at + 3])
    assert "on 2 ranks, which share the load" in summary["run"]["description"], summary["run"]
    assert [one["name"] for one in rows("SELECT name FROM runs")] == ["small", "small"]
    assert last_run()["status"] == "completed"
    for tier in ("gpu", "cpu", "nvme"):
        assert summary["tiers"][tier]["usable_bytes"] == 2 * alone["tiers"][tier]["usable_bytes"], tier


@case("the same seed asks the same of 1, 2, 3, 4 and 8 ranks, and a simulation of ranks is the same each time")
def _():
    simulated = {"mode": "simulate", "workload.users": 11}
    _, whole = together(1, simulated)
    for ranks in (2, 3, 4, 8):
        _, logs = together(ranks, simulated)
        assert asked(logs) == asked(whole), "other requests with %d ranks" % ranks
        conversations = [{line["conversation"] for line in log} for log in logs]
        assert sum(map(len, conversations)) == len(set.union(*conversations)), "a conversation on two ranks"
    first, again = (together(3, simulated) for _ in range(2))
    assert first[1] == again[1], "other request logs"
    same = [{name: value for name, value in one["results"].items() if not name.startswith(("cpu_", "rss_", "start_skew", "host_", "real_"))}
            for one, _ in (first, again)]
    assert same[0] == same[1], sorted(name for name in same[0] if same[0][name] != same[1].get(name))


@case("each rank may have the scenario's whole load, with users of its own")
def _():
    summary, logs = together(2, {"mode": "simulate", "ranks.users": "per_rank"})
    assert result(summary, "requests_done") == 192, summary["results"]["requests_done"]
    assert not {line["id"] for line in logs[0]} & {line["id"] for line in logs[1]}
    assert "on 2 ranks, each with such a load" in summary["run"]["description"], summary["run"]


@case("arrivals at a rate are those of one process, dealt out")
def _():
    rated = {"mode": "simulate", "workload.arrival": {"process": "poisson", "rate": 500}}
    _, whole = together(1, rated)
    _, logs = together(3, rated)
    assert asked(logs) == asked(whole)
    arrivals = [sorted((line["id"], line["arrival_s"]) for log in of for line in log) for of in (whole, logs)]
    assert arrivals[0] == arrivals[1], "other times"


def near(a, b, within=1e-9):
    return abs(a - b) <= within * max(abs(a), abs(b), 1e-9)


@case("each rank has rows of its own, which add up to the whole, and SQL names the slowest")
def _():
    summary, logs = together(3, None)
    run_id = last_run()["run_id"]
    ranks = rows("SELECT * FROM ranks WHERE run_id = ? ORDER BY rank", run_id)
    assert [one["rank"] for one in ranks] == [0, 1, 2] and len({one["host"] for one in ranks}) == 1, ranks
    assert [one["done"] for one in ranks] == [len(log) for log in logs], ranks
    for one, log in zip(ranks, logs):
        assert one["tokens"] == sum(line["generate_tokens"] for line in log), one
        assert one["lost"] == 0 and one["failed"] == 0 and one["length_s"] > 0 and one["clock_error_ms"] is not None, one
    assert sum(one["done"] for one in ranks) == result(summary, "requests_done")
    for tier in ("gpu", "cpu", "nvme"):
        parts = rows("SELECT * FROM rank_tiers WHERE run_id = ? AND tier = ?", run_id, tier)
        assert len(parts) == 3 and all(0 <= one["busy_ratio"] <= 1 for one in parts), parts
        assert sum(one["capacity_bytes"] for one in parts) == summary["tiers"][tier]["usable_bytes"], tier
        for way in ("read", "write"):
            assert sum(one[way + "_ops"] for one in parts) == result(summary, "%s_%s_ops" % (tier, way)), (tier, way)
            assert sum(one[way + "_bytes"] for one in parts) == result(summary, "%s_%s_bytes" % (tier, way)), (tier, way)
    slowest = rows("SELECT rank, host, e2e_p95_ms, why FROM ranks WHERE run_id = ? AND slowest", run_id)
    assert len(slowest) == 1 and slowest[0]["e2e_p95_ms"] == max(one["e2e_p95_ms"] for one in ranks), slowest
    assert slowest[0]["why"].startswith("rank %d on %s: e2e P95 " % (slowest[0]["rank"], slowest[0]["host"])), slowest
    intervals = rows("SELECT rank, count(*) AS n FROM rank_intervals WHERE run_id = ? GROUP BY rank", run_id)
    assert [one["rank"] for one in intervals] == [0, 1, 2] and all(one["n"] > 0 for one in intervals), intervals
    assert rows("SELECT count(*) AS n FROM rank_tier_intervals WHERE run_id = ? AND tier = 'cpu'", run_id)[0]["n"] > 0
    shown = run(["show", "--ranks"]).stdout
    assert "Slowest: " + slowest[0]["why"] in " ".join(shown.split()), shown
    assert [one["rank"] for one in summary["ranks"]] == [0, 1, 2] and len(summary["ranks"][1]["tiers"]) == 3
    report = run(["report", "--format", "md"])
    assert report.rc == 0 and "## Ranks" in report.stdout, report


@case("a simulation of ranks has rows whose intervals add up to each rank's part")
def _():
    together(4, {"mode": "simulate", "workload.users": 11})
    run_id = last_run()["run_id"]
    for one in rows("SELECT rank, done, tokens FROM ranks WHERE run_id = ?", run_id):
        sums = rows("SELECT sum(p.done) AS done, sum(p.tokens) AS tokens, max(behind) AS behind FROM rank_intervals AS p "
                    "JOIN intervals USING (run_id, seq) WHERE run_id = ? AND rank = ? AND phase = 'measured'", run_id, one["rank"])[0]
        assert sums["behind"] == 0 and near(sums["done"], one["done"]) and near(sums["tokens"], one["tokens"]), (one, sums)


def known(sql, *values):
    try:
        return rows(sql, *values)
    except sqlite3.OperationalError:  # the database is still being made
        return False


def measures(pid):
    return known("SELECT 1 FROM intervals JOIN runs USING (run_id) WHERE pid = ? AND phase = 'measured' AND done > 0", pid)


def running(*options, changes=None):
    """A run of three processes that has measured something: the process of rank 0, and those of the others."""
    need_mpi()
    process = start({**SHARED, "run": {"duration": "10m", "warmup": "0s", "interval": "200ms"}, **(changes or {})}, "--ranks", "3",
                    "--quiet", *options)
    wait_until(lambda: measures(process.pid), what="an interval")
    found = other_ranks()
    assert len(found) == 2, found
    return process, list(found.values())


def parent_of(process):
    return int(re.search(r"^PPid:\t(\d+)", pathlib.Path("/proc/%d/status" % process).read_text(), re.MULTILINE)[1])


def ended(processes):
    """As gone(), of processes that this one may have adopted."""
    for one in processes:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(one, os.WNOHANG)
    return gone(processes)


def gone(processes):
    return not any(os.path.exists("/proc/%d" % one) for one in processes)


@case("SIGINT and SIGTERM at any rank end all in order, with what was measured")
def _():
    for number, name, status in ((signal.SIGINT, "SIGINT", 130), (signal.SIGTERM, "SIGTERM", 143)):
        at_first = number == signal.SIGINT or LONG
        process, others = running()
        if at_first:
            process.send_signal(number)
            got = finish(process)
            assert got.rc == status and last_run()["status"] == "interrupted", got
            wait_until(lambda: gone(others), what="the end of the others")
            process, others = running()
        os.kill(others[0], number)
        got = finish(process)
        assert got.rc == status and last_run()["status"] == "interrupted" and "stopped by " + name in got.stdout, got
        assert re.search(r"rank [12] on \S+ was stopped", got.stdout), got
        wait_until(lambda: gone(others), what="the end of the others")
    assert rows("SELECT value FROM results WHERE metric = 'requests_done'")[-1]["value"] > 0


@case("a rank that is killed or stopped is named, the run has failed, and the others end")
def _():
    for number in (signal.SIGKILL, signal.SIGSTOP):
        json_path = home() / "work/lost.json"
        process, others = running("--json", json_path)
        os.kill(others[0], number)
        got = finish(process)
        assert got.rc == 1 and last_run()["status"] == "failed", got
        check_identities(json.loads(json_path.read_text()))  # figures and verdict are of one time
        assert re.search(r"rank [12] on \S+ is lost", got.stdout), got
        os.kill(others[0], signal.SIGCONT) if number == signal.SIGSTOP else None
        wait_until(lambda: gone(others), what="the end of the others")
        assert rows("SELECT value FROM results WHERE metric = 'ranks_lost'")[-1]["value"] == 1


@case("a rank that stands still for a while slows no other, and its counts come in later")
def _():
    log = home() / "work" / "still.jsonl"
    process, others = running("--request-log", log, changes={"workload.arrival": {"process": "poisson", "rate": 150}})
    os.kill(others[0], signal.SIGSTOP)
    wait_until(lambda: rows("SELECT 1 FROM rank_intervals WHERE behind >= ?", 25 if LONG else 5), what="a rank that is behind")
    behind = rows("SELECT rank, min(seq) AS first, max(seq) AS last, max(behind) AS most FROM rank_intervals WHERE behind > 0 "
                  "GROUP BY rank ORDER BY most")
    still = behind.pop()  # a machine that is slow may leave another one behind for an interval
    rest = rows("SELECT rank, seq, p.done, behind, t_s FROM rank_intervals AS p JOIN intervals USING (run_id, seq) "
                "WHERE rank <> ? AND seq BETWEEN ? AND ?",
                still["rank"], still["first"], still["last"])
    assert len(rest) >= 6 and all(one["behind"] < still["most"] for one in rest), (still, rest)  # a stop leaves intervals out
    assert {one["rank"] for one in rest if one["behind"] == 0} == {0, 1, 2} - {still["rank"]}, (still, rest)
    os.kill(others[0], signal.SIGCONT)
    wait_until(lambda: rows("SELECT 1 FROM rank_intervals WHERE rank = ? AND behind = 0 AND seq > ?", still["rank"], still["last"] + 1),
               what="the rank's counts")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and last_run()["status"] == "interrupted", got
    whole = rows("SELECT value FROM results WHERE metric = 'requests_done'")[-1]["value"]
    assert sum(one["done"] for one in rows("SELECT done FROM ranks")) == whole, rows("SELECT rank, done FROM ranks")
    # Requests come at times of their own: who keeps up has done in that time what has come in it.
    begin, end = min(one["t_s"] for one in rest), max(one["t_s"] for one in rest)
    for rank in {one["rank"] for one in rest}:
        lines = map(json.loads, (log.parent / ("still-rank%d.jsonl" % rank)).read_text().splitlines())
        came = sum(begin < line["arrival_s"] <= end for line in lines)
        done = sum(one["done"] or 0 for one in rest if one["rank"] == rank and one["t_s"] > begin)
        assert came > 20 and done > 0, (rank, came, done)
        if LONG:  # by hand on a quiet machine: half a second of requests
            assert abs(done - came) <= 25 + came / 10, (rank, came, done)


@case("ranks that stand still together, as on a machine that does, lose nobody: the run goes on")
def _():
    process, others = running()
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for one in [process.pid, *others]:
            os.kill(one, number)
        if number == signal.SIGSTOP:
            time.sleep(9)  # a single one is lost in that time
    newest = rows("SELECT max(seq) AS seq FROM intervals")[0]["seq"]
    wait_until(lambda: rows("SELECT 1 FROM intervals WHERE seq > ? + 15", newest), what="more intervals")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and last_run()["status"] == "interrupted" and "is lost" not in got.stdout + got.stderr, got


FAR = {"ns": ("kvfall-a-%d" % os.getpid(), "kvfall-b-%d" % os.getpid()), "ip": ("10.77.0.1", "10.77.0.2")}


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True).returncode == 0


def pids_of(*words):
    """Ranks, not those who started them, whose command line has the word."""
    return [int(one.parent.name) for one in pathlib.Path("/proc").glob("[0-9]*/cmdline")
            if one.exists() and (line := one.read_bytes().split(b"\0"))[0] == str(KVFALL).encode() and all(word.encode() in line for word in words)]


@contextlib.contextmanager
def two_hosts():
    """Two network namespaces with one cable between them: what starts the second rank in the far one, and the way to pull the cable."""
    here, far = FAR["ns"]
    if not LONG or os.getuid() != 0 or "Open MPI" not in run(["probe"]).stdout:
        raise Skip("a cable is pulled with KVF_TESTS_LONG=1, by root and with Open MPI")
    try:
        if not (ip("netns", "add", here) and ip("netns", "add", far) and
                ip("link", "add", "cable", "netns", here, "type", "veth", "peer", "name", "cable", "netns", far)):
            raise Skip("there are no network namespaces here")
        for name, address in zip(FAR["ns"], FAR["ip"]):
            assert ip("-n", name, "addr", "add", address + "/24", "dev", "cable")
            assert ip("-n", name, "link", "set", "lo", "up") and ip("-n", name, "link", "set", "cable", "up")
        agent = home() / "agent"  # in place of ssh
        agent.write_text("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\nexec ip netns exec %s env HOME=%s /bin/sh -c \"$*\"\n"
                         % (far, home()))
        agent.chmod(0o755)
        yield agent, lambda: ip("-n", here, "link", "set", "cable", "down")
    finally:
        for name in FAR["ns"]:
            for one in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split():
                os.kill(int(one), signal.SIGKILL)  # Open MPI's own daemons wait for each other
            ip("netns", "del", name)


@case("a rank behind a cable that is pulled is named within ten seconds, both ends end, and what was measured is stored")
def _():
    need_mpi()
    with two_hosts() as (agent, cut):
        words = ["ip", "netns", "exec", FAR["ns"][0], "mpirun", "-np", "2", "--host", ",".join(one + ":1" for one in FAR["ip"]),
                 "--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self"]
        for part in ("oob", "btl"):
            words += ["--mca", part + "_tcp_if_include", "10.77.0.0/24"]
        scenario = write({**SHARED, "run": {"duration": "10m", "warmup": "0s", "interval": "200ms"}})
        process = subprocess.Popen(words + [str(KVFALL), "run", "--headless", str(scenario)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment())
        try:
            wait_until(lambda: known("SELECT 1 FROM rank_intervals WHERE rank = 1 AND done > 0"), what="an interval")
            assert cut()
            wait_until(lambda: last_run()["status"] == "failed", what="the end of the run")
            assert re.match(r"rank 1 on \S+ is lost: it has given no sign of life for 8 s", last_run()["status_reason"]), last_run()["status_reason"]
            wait_until(lambda: not pids_of(str(scenario)), what="the end of both ranks")
            assert rows("SELECT value FROM results WHERE metric = 'ranks_lost'")[-1]["value"] == 1
            assert rows("SELECT rank, done > 0 AS had, lost FROM ranks") == [{"rank": 0, "had": 1, "lost": 0}, {"rank": 1, "had": 1, "lost": 1}]
        finally:
            process.kill()
            process.wait()


@case("a start at a time on the wall is kept, and one that has gone by is said")
def _():
    at = time.time() + 1.5
    got = finish(start(SHARED, "--start-at", "%.3f" % at))
    first = rows("SELECT min(at - length_s) AS began FROM intervals WHERE run_id = ?", last_run()["run_id"])[0]["began"]
    assert got.rc == 0 and at <= first + 1e-3, (at, first)
    got = finish(start(SHARED, "--start-at", "%.3f" % (time.time() - 5)))
    assert got.rc == 0 and "after the time of --start-at" in got.stdout, got
    for wrong in ("noon", "12", "", "1e30", "nan"):
        got = run(["run", "--headless", "--start-at", wrong, write()])
        assert got.rc == 2 and "--start-at is a time of today" in got.stderr and len(got.stderr.splitlines()) == 1, got


@case("probe and --version name the MPI that there is, or why there is none")
def _():
    told = run(["probe"]).stdout
    line = next(line for line in told.splitlines() if line.startswith("mpi "))
    assert ("none: " in line) == (not (BUILD / "kvfall-mpi.so").exists()), line


@case("with --keep-going the run goes on without a rank that was killed")
def _():
    process, others = running("--keep-going")
    os.kill(others[0], signal.SIGKILL)
    wait_until(lambda: rows("SELECT message FROM events WHERE message LIKE '%goes on without it%'"), what="the event")
    at = rows("SELECT max(seq) AS seq FROM intervals")[0]["seq"]
    wait_until(lambda: rows("SELECT 1 FROM intervals WHERE done > 0 AND seq > ?", at + 2), what="more intervals")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert last_run()["status"] == "interrupted" and "goes on without it" in got.stdout, got
    # users are gone with it, and the others have the machine to themselves
    assert "throughput not comparable: 1 rank was lost" in " ".join(got.stdout.split()), got
    assert rows("SELECT actual, passed FROM criteria WHERE name = 'ranks lost'") == [{"actual": 1, "passed": 0}], got


@case("with --keep-going the run begins without a rank that was killed while it prepared")
def _():
    need_mpi()
    changes = {"run": {"duration": "2s", "warmup": "0s"}, "tiers": {"cpu": {"capacity": "1GiB"}}}  # takes a moment to fault in
    process = start(changes, "--ranks", 3, "--keep-going")
    wait_until(lambda: known("SELECT 1 FROM runs WHERE pid = ?", process.pid), what="a run")
    os.kill(other_ranks()[2], signal.SIGKILL)
    got = finish(process)
    assert got.rc == 0 and last_run()["status"] == "completed" and "goes on without it" in got.stdout, got
    assert "throughput not comparable: 1 rank was lost" in " ".join(got.stdout.split()), got


@case("a launcher that is not there, starts nothing, or one process too few, is one sentence and status 2; what is started ends with its first process")
def _():
    need_mpi()
    places = home() / "bin"
    places.mkdir()
    for program, said in ((None, "install Open MPI or MPICH"),
                          ("#!/bin/sh\necho ---; echo no slots >&2; exit 1\n", "did not start 2 ranks, and --ranks needs it: no slots"),
                          ("#!/bin/sh\nshift 2; PMI_RANK=0 exec \"$@\"\n", "1 of the 2 ranks of mpirun did not come within 8 s of the others: it said nothing")):
        if program:
            (places / "mpirun").write_text(program)
            (places / "mpirun").chmod(0o755)
        got = run(["run", "--headless", "--ranks", "2", write()], env={"PATH": str(places)})
        assert got.rc == 2 and said in got.stderr and len(got.stderr.splitlines()) == 1, got
        assert not database().exists()
    process, others = running()
    os.kill(others[0], signal.SIGSTOP)
    process.kill()
    process.wait()
    wait_until(lambda: gone(others), what="the end of the others")


@case("a scenario that the other ranks cannot read is one sentence and status 2, and nobody waits for them")
def _():
    need_mpi()
    scenario = write(SHARED)
    for ranks in ("2", "9"):
        with open(scenario) as own:  # of this process's child alone, as of a shell's <(...)
            name = "/dev/fd/%d" % own.fileno()
            got = finish(spawn(["run", "--headless", "--ranks", ranks, name], pass_fds=[own.fileno()]))
        assert got.rc == 2 and len(got.stderr.splitlines()) == 1, got
        assert "did not start %s ranks" % ranks in got.stderr and name in got.stderr, got
        wait_until(lambda: not pids_of("--ranks", name), what="the end of the others")
        assert not database().exists()


def sockets_of(pid):
    """Copies of a process's sockets, as far as the system gives them."""
    libc, number, copies = ctypes.CDLL(None), os.pidfd_open(pid), []
    for one in pathlib.Path("/proc/%d/fd" % pid).iterdir():
        if os.readlink(one).startswith("socket:"):
            copies.append(libc.syscall(438, number, int(one.name), 0))  # pidfd_getfd()
    os.close(number)
    return [one for one in copies if one >= 0]


@case("a launcher, or the process that stands in for the first rank, that is killed ends the run with a sentence, and nobody else")
def _():
    told = []
    adopts = ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER: orphans come to this process
    before = signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    try:
        # whoever stands in tells of the launcher's end, or the library of MPI finds out by itself, and ends the process
        for killed, mute in (("launcher", False), ("launcher", True), ("first", False)) if LONG else (("launcher", True),):
            process, others = running()
            launcher = parent_of(others[0])
            stands_in = [one for one in pids_of("--ranks") if parent_of(one) == launcher and one not in others]
            assert launcher != os.getpid() and len(stands_in) == 1, (launcher, stands_in)
            held = sockets_of(stands_in[0]) if mute else []  # open here: nobody hears of its end by them
            os.kill(stands_in[0] if killed == "first" else launcher, signal.SIGKILL)
            got = finish(process)
            for one in held:
                os.close(one)
            assert got.rc == 1 and "the launcher of the ranks is gone" in got.stderr, got
            wait_until(lambda: ended(others + stands_in), what="the end of the others")
            shown = run(["show"])
            assert shown.rc == 0 and "crashed" in shown.stdout.lower(), shown
        assert adopts and not told, "SIGTERM for a parent that is no launcher"
    finally:
        signal.signal(signal.SIGTERM, before)
        ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


@case("started by a launcher without the plugin, one sentence and status 2")
def _():
    alone = home() / "alone"
    alone.mkdir()
    program = alone / "kvfall"
    program.write_bytes(KVFALL.read_bytes())
    program.chmod(0o755)
    got = run(["run", "--headless", write()], program=program, env={"OMPI_COMM_WORLD_SIZE": "2"})
    assert got.rc == 2 and "--with-mpi" in got.stderr and len(got.stderr.splitlines()) == 1, got
    got = run(["run", "--headless", "--ranks", "2", write()], program=program)
    assert got.rc == 2 and "--with-mpi" in got.stderr, got


@case("started by a launcher of another MPI than the plugin's, one sentence and status 2: strangers are no run")
def _():
    need_mpi()
    for sign in ({"PMI_SIZE": "2", "PMI_RANK": None}, {"OMPI_COMM_WORLD_SIZE": "3"}):
        got = run(["run", "--headless", write()], env=sign)
        assert got.rc == 2 and "found itself alone" in got.stderr and "MPICC=" in got.stderr, got
        assert not database().exists()


# ---- pods that are ranks ----

def pods(routing, **more):
    """A fleet of three real pods; three is also how many ranks there are."""
    return {"fleet": {"pods": 3, "routing": routing}, "cache.granularity": "block", "model": "llama3.1-8b",
            "tiers": {"cpu": {"capacity": "256MiB"}}, "compute": {"mode": "fixed", "ms_per_token": 0},
            "workload": {"users": 10, "personas": [{"name": "p", "context": [100, 300], "generate": [1, 9], "think": ["1ms", "3ms"]}],
                         "conversation": {"end_probability": 0.3}, **more}}


def decisions(logs):
    return {line["id"]: (line["pod"], line["router"], line["routed_by"]) for log in logs for line in log}


@case("the pods of a fleet are ranks: each request is served once, by the pod that a simulation chooses")
def _():
    rate = {"arrival": {"process": "poisson", "rate": 400}}
    for routing in ("round_robin", "random", "session"):
        _, modelled = together(1, {**pods(routing, **rate), "mode": "simulate"})
        summary, logs = together(3, pods(routing, **rate))
        assert sum(map(len, logs)) == 96 == result(summary, "requests_done") == len(decisions(logs)), routing
        assert decisions(logs) == decisions(modelled), routing
        for rank, log in enumerate(logs):
            assert {line["pod"] for line in log} == {rank}, (routing, rank)
        counted = rows("SELECT pod, requests_routed, requests_done, lookups FROM run_pods WHERE run_id = ? ORDER BY pod",
                       last_run()["run_id"])
        assert [(one["pod"], one["requests_routed"], one["requests_done"]) for one in counted] == [
            (rank, len(log), len(log)) for rank, log in enumerate(logs)], counted
        assert sum(one["lookups"] for one in counted) > 0
        check_identities(summary)


@case("users of a fleet ask their next turn when the pod's answer is back")
def _():
    for routing in ("least_loaded", "estimated"):
        summary, logs = together(3, pods(routing))
        assert sum(map(len, logs)) == 96 == result(summary, "requests_done") == len(decisions(logs)), routing
        clock = rows("SELECT start_late_ms, clock_error_ms FROM ranks WHERE run_id = ? ORDER BY rank", last_run()["run_id"])
        turns = {}  # a pod's log tells times since its own start
        for one, log in zip(clock, logs):
            for line in log:
                at_ms = 1e3 * line["arrival_s"] + one["start_late_ms"]
                turns.setdefault(line["conversation"], []).append((line["turn"], at_ms, line["e2e_ms"], one["clock_error_ms"]))
        for conversation, asked_for in turns.items():
            asked_for.sort()
            assert [turn for turn, *_ in asked_for] == list(range(1, len(asked_for) + 1)), (conversation, asked_for)
            for (_, before, took, error), (_, after, _, other) in zip(asked_for, asked_for[1:]):
                assert after >= before + took - error - other - 0.001, (conversation, asked_for)
        assert all(logs), routing
        check_identities(summary)


@case("rows of real pods add up to the whole when a run ends amid its requests: each one routed has arrived or is on its way")
def _():
    need_mpi()
    changes = {**pods("least_loaded", users=60), "run": {"duration": "300ms", "warmup": "0s", "interval": "100ms"}}
    summary, _ = together(3, changes)
    whole = rows("SELECT sum(requests_routed) AS routed, sum(requests_done) AS done, sum(tokens) AS tokens, sum(lookups) AS lookups, "
                 "sum(gpu_hits + cpu_hits + nvme_hits) AS hits FROM run_pods WHERE run_id = ?", last_run()["run_id"])[0]
    assert whole["routed"] == result(summary, "requests_arrived") + result(summary, "requests_on_way_at_end"), whole
    assert result(summary, "requests_in_service_at_end") > 0, summary["results"]
    for mine, name in (("done", "requests_done"), ("tokens", "tokens_generated"), ("lookups", "lookups"), ("hits", "hits")):
        assert whole[mine] == result(summary, name) > 0, (name, whole, result(summary, name))
    check_identities(summary)


class TooShort(AssertionError):
    """What the case looks for has not come about in so short a run on so slow a machine."""


def seen(condition, *what):
    if not condition:
        raise TooShort(*what)


def longer_and_longer(check):
    """check(times) in ever longer runs until it has seen all that it looks for."""
    for times in (1, 4, 12):
        try:
            return check(times)
        except TooShort:
            if times == 12:
                raise


def gone_for(times, outages):
    """Three real pods of which parts are gone for a while, all `times` longer: the request log, rows of the run, and its marks."""
    changes = {**pods("precise", users=30), "run": {"duration": "%ds" % (3 * times), "warmup": "0s", "interval": "100ms"}, "engine.slots": 3}
    changes["compute"] = {"mode": "fixed", "ms_per_token": 5}
    changes["tiers"] = {"cpu": {"capacity": "64MiB"}, "nvme": {"capacity": "128MiB", "path": "."}}
    outages = [{**one, "at": "%dms" % (one["at"] * times), "for": "%dms" % (one["for"] * times)} for one in outages]
    changes["fleet"].update(routers=2, outages=outages, index={"staleness": "0s"})
    summary, logs = together(3, changes)
    check_identities(summary)
    marks = rows("SELECT t_s, message FROM events WHERE level = 'mark' AND run_id = ? ORDER BY t_s", last_run()["run_id"])
    late = [one["start_late_ms"] for one in rows("SELECT start_late_ms FROM ranks WHERE run_id = ? ORDER BY rank", last_run()["run_id"])]
    for log, own in zip(logs, late):
        for line in log:
            line["at"] = line["arrival_s"] + (own - late[0]) / 1e3  # by rank 0's clock, as the marks
            line["slot"] = line["at"] + line["queue_ms"] / 1e3
    return summary, logs, marks


def within(lines, begin, end):
    """Those of the requests that were certainly routed in that time: they arrived in it, and had a slot before its end."""
    return [line for line in lines if begin + 0.02 < line["at"] and line["slot"] < end - 0.02]


@case("a real pod that dies loses its blocks and what it serves, hands back what waits, and comes back empty; so does that of rank 0")
def _():
    def check(times, pod):
        summary, logs, marks = gone_for(times, [{"pod": pod, "at": 800, "for": 1200}])
        assert [mark["message"] for mark in marks] == ["pod %d is gone" % pod, "pod %d is back" % pod], marks
        gone, back = (mark["t_s"] for mark in marks)
        assert 0.8 * times <= gone <= back and back >= 2 * times, marks
        served = {line["id"]: line for log in logs for line in log}
        assert len(served) == sum(map(len, logs)), "a request was served twice"
        failed = [line for line in served.values() if line["failed"]]
        assert len(failed) == result(summary, "outage_requests_failed") == result(summary, "requests_failed") <= 3, failed
        assert {line["pod"] for line in failed} <= {pod}, failed
        counted = rows("SELECT sum(requests_routed) AS routed, sum(requests_done) AS done FROM run_pods WHERE run_id = ?", last_run()["run_id"])[0]
        assert counted["done"] == result(summary, "requests_done")
        assert counted["routed"] == (result(summary, "requests_arrived") + result(summary, "requests_on_way_at_end") +
                                     result(summary, "outage_requests_rerouted")), counted
        assert result(summary, "outages") == 1 and "outage_hits_back_s" in summary["results"] and "outage_ttft_back_s" in summary["results"]

        seen(failed and result(summary, "outage_requests_rerouted") > 0 and result(summary, "outage_lost_bytes") > 0, summary["results"])
        amid = [line for line in logs[pod] if gone + 0.3 * times < line["slot"] < back - 0.02]  # it takes a busy machine time to tell the pod
        seen(not amid and any(line["slot"] > back for line in logs[pod]), amid, marks)
        seen(any(gone < line["slot"] < back for log in logs for line in log), "nobody was served meanwhile")
        down = rows("SELECT seq, t_s, down FROM pod_intervals JOIN intervals USING (run_id, seq) WHERE run_id = ? AND pod = ? ORDER BY seq",
                    last_run()["run_id"], pod)
        seen({one["down"] for one in down if gone + 0.2 * times < one["t_s"] < back} == {1}, down, marks)
        seen(down[0]["down"] == 0 == down[-1]["down"], down)

    for pod in (1, 0):
        longer_and_longer(lambda times: check(times, pod))


def turns(pid):
    """How often the control thread of a process has gone to sleep."""
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text(), re.MULTILINE).group(1))


@case("a pod that begins late hears first of the requests that came before its death, and hands them back")
def _():
    need_mpi()
    changes = {**pods("round_robin", users=90), "run": {"duration": "3s", "warmup": "0s", "interval": "100ms"}, "engine.slots": 3}
    changes["fleet"].update(outages=[{"pod": pod, "at": "0s", "for": "1h"} for pod in (1, 2)])
    changes["tiers"] = {"cpu": {"capacity": "1GiB"}}  # takes a moment to fault in
    json_path = home() / "work/out.json"
    process = start({**SHARED, **changes}, "--ranks", 3, "--json", json_path, "--request-log", home() / "work/log.jsonl")
    wait_until(lambda: known("SELECT 1 FROM runs WHERE pid = ?", process.pid), what="a run")
    number = other_ranks()
    os.kill(number[2], signal.SIGSTOP)  # nobody begins
    before = turns(number[1])
    wait_until(lambda: turns(number[1]) > before + 200, what="a rank that is ready")
    os.kill(number[1], signal.SIGSTOP)
    os.kill(number[2], signal.SIGCONT)
    with contextlib.suppress(AssertionError):  # if it was stopped sooner, all begin when it goes on
        wait_until(lambda: measures(process.pid), 4, "an interval")
    os.kill(number[1], signal.SIGCONT)
    got = finish(process)
    assert got.rc == 0, got
    summary = json.loads(json_path.read_text())
    check_identities(summary)
    waits = rows("SELECT pod, load_mean FROM pod_intervals WHERE run_id = ? ORDER BY seq DESC, pod LIMIT 3", last_run()["run_id"])
    assert [one["load_mean"] for one in waits if one["pod"] > 0] == [0, 0], waits


@case("a router of a real fleet that is gone routes nothing meanwhile, and an index that is gone knows nothing")
def _():
    def check(times):
        summary, logs, marks = gone_for(times, [{"router": 0, "at": 500, "for": 800}, {"index": True, "at": 2000, "for": 900}])
        assert [mark["message"] for mark in marks] == ["router 0 is gone", "router 0 is back", "the index is gone", "the index is back"], marks
        at = [mark["t_s"] for mark in marks]
        assert result(summary, "outages") == 2 and result(summary, "requests_failed") == 0 == result(summary, "outage_lost_bytes")
        lines = [line for log in logs for line in log]
        routers = [{line["router"] for line in within(lines, *span)} for span in ((0, at[0]), (at[0], at[1]), (at[1], 3 * times))]
        by = [{line["routed_by"] for line in within(lines, *span)} for span in ((at[1], at[2]), (at[2], at[3]))]
        assert routers[1] <= {1} and by[1] <= {"load"}, (routers, by, marks)
        seen(routers == [{0, 1}, {1}, {0, 1}] and "prefix" in by[0] and by[1], routers, by, marks)

    longer_and_longer(check)


@case("a real fleet names what it cannot do")
def _():
    need_mpi()
    for changes, ranks, sentence in (({}, 2, "each of the 3 pods of a real fleet is a rank, and there are 2; run it with --ranks 3"),
                                     ({"tiers.remote": {"capacity": "1GiB", "bandwidth": "1GB/s"}}, 3, "real pods share a server; take resp or s3, or set mode: simulate"),
                                     ({"tiers.remote": {"capacity": "1GiB", "backend": "resp", "url": "redis://127.0.0.1:1"}, "cache.granularity": "request"}, 3,
                                      "real pods find blocks that others have stored; set cache.granularity: block"),
                                     ({"tiers.remote": {"capacity": "1GiB", "backend": "resp", "url": "redis://127.0.0.1:1"},
                                       "fleet.outages": [{"remote": True, "at": "1s", "for": "1s"}]}, 3, "is a server, which kvfall does not stop"),
                                     ({"fleet.routing": "least_load"}, 3, 'fleet.routing: "least_load" is none of random | round_robin | least_loaded'),
                                     ({"ranks.users": "per_rank"}, 3, "the users of a fleet are those of its routers; set ranks.users: total")):
        got = finish(start({**SHARED, **pods("random"), **changes}, "--ranks", ranks))
        assert got.rc == 2 and sentence in " ".join((got.stdout + got.stderr).split()), got
    got = finish(start({**SHARED, **pods("random")}, "--ranks", 3, "--keep-going"))
    assert got.rc == 2 and "a real fleet ends with the first pod that is lost; run it without --keep-going" in got.stderr, got


def by_index(**index):
    """Precise routing that looks at nothing but prefixes, of conversations that all fit in."""
    changes = pods("precise", users=20)
    changes["fleet"].update(weights={"prefix": 1, "load": 0}, index={"staleness": "0s", **index})
    return {**changes, "tensor_parallel": 8}


def check_precise(summary, logs):
    served = {}
    for log in logs:
        for line in log:
            served.setdefault(line["conversation"], []).append((line["turn"], line["pod"], line["routed_by"]))
    later = [turn for turns in served.values() for turn in turns if turn[0] > 1]
    assert later and all(len({pod for _, pod, _ in turns}) == 1 for turns in served.values()), served
    assert {by for _, _, by in later} == {"prefix"}, later
    assert len({pod for turns in served.values() for _, pod, _ in turns}) == 3, served
    assert result(summary, "requests_done") == 96 and result(summary, "routed_blocks") > 0
    assert result(summary, "routed_blocks_wrong") == 0 < result(summary, "index_entries") <= result(summary, "index_events")
    check_identities(summary)


@case("with an answer rank 0 knows what the pod has stored: precise routing keeps a conversation there, and expects nothing that is missing")
def _():
    check_precise(*together(3, by_index()))


@case("the index of a real fleet in a real server: as in memory, its lookups measured, and nothing is left there")
def _():
    need_mpi()
    redis = servers.Redis()
    summary, logs = together(3, by_index(backend="resp", url=redis.url))
    check_precise(summary, logs)
    assert 0 < result(summary, "index_lookup_mean_ms") <= result(summary, "index_lookup_max_ms")
    assert result(summary, "index_bytes") > 0 and redis.keys() == []
    redis.kill()
    got = finish(start({**SHARED, **by_index(backend="resp", url=redis.url)}, "--ranks", 3))
    assert got.rc == 2 and "start one, as with `redis-server" in got.stderr and not re.search("rank [12]", got.stderr), got


@case("real pods share a server: each finds what others have stored there, a death leaves it there, and nothing is left at the end")
def _():
    need_mpi()
    redis = servers.Redis(maxmemory="1gb")
    def check(times, routing, outages):
        changes = {**pods(routing, users=12), "tensor_parallel": 8, "cache.verify": "full",
                   "run": {"duration": "%dms" % (1500 * times), "warmup": "0s", "interval": "100ms"}}
        changes["tiers"] = {"cpu": {"capacity": "16MiB"}, "remote": servers.remote(redis, capacity="256MiB")}  # of each pod: together less than the server has
        changes["fleet"].update(outages=outages)
        summary, logs = together(3, changes)
        served, by_others = {}, 0
        for line in sorted((line for log in logs for line in log), key=lambda line: (line["conversation"], line["turn"])):
            before = served.setdefault(line["conversation"], set())
            by_others += line["pod"] not in before and line["turn"] > 1 and line["hits"]["remote"] > 0
            before.add(line["pod"])
        failed = result(summary, "requests_failed")
        assert failed == (result(summary, "outage_requests_failed") if outages else 0), failed
        check_identities(summary)
        assert redis.keys() == []
        seen(by_others > 0 and result(summary, "remote_found") > 0, by_others, summary["results"]["remote_found"])

    for routing, outages in (("round_robin", []), ("precise", [{"pod": 1, "at": "300ms", "for": "300ms"}])):
        longer_and_longer(lambda times: check(times, routing, outages))


@case("pods whose shared server is killed end their run with its name and what was measured")
def _():
    need_mpi()
    redis = servers.Redis(maxmemory="1gb")
    changes = {**pods("precise", users=12), "tensor_parallel": 8}
    changes["tiers"] = {"cpu": {"capacity": "16MiB"}, "remote": servers.remote(redis, capacity="256MiB")}
    process, others = running(changes=changes)
    redis.kill()
    got = finish(process)
    run_id = last_run()["run_id"]
    assert got.rc == 1 and last_run()["status"] == "failed", got
    assert redis.address in unwrapped(got), got
    assert rows("SELECT count(*) AS n FROM intervals WHERE run_id = ? AND done > 0", run_id)[0]["n"] > 0
    assert [one["pod"] for one in rows("SELECT pod FROM run_pods WHERE run_id = ? ORDER BY pod", run_id)] == [0, 1, 2]
    wait_until(lambda: gone(others), what="the end of the others")


@case("a pod that is killed ends the fleet's run by name, with what was measured; so does an index that is gone")
def _():
    need_mpi()
    redis = servers.Redis()
    for kills_index in (False, True):
        process, others = running(changes=by_index(backend="resp", url=redis.url))
        if kills_index:
            redis.kill()
        else:
            os.kill(others[1], signal.SIGKILL)
        got = finish(process)
        run_id = last_run()["run_id"]
        assert got.rc == 1 and last_run()["status"] == "failed", got
        # whether the end of a connection is read, or met by what is sent, is the server's moment
        lost = "the (connection to {0} is lost|server at {0} has closed the connection)".format(re.escape(redis.address))
        assert re.search(lost if kills_index else r"rank [12] on \S+ is lost", unwrapped(got)), got
        assert rows("SELECT count(*) AS n FROM intervals WHERE run_id = ?", run_id)[0]["n"] > 0
        assert [one["pod"] for one in rows("SELECT pod FROM run_pods WHERE run_id = ? ORDER BY pod", run_id)] == [0, 1, 2]
        wait_until(lambda: gone(others), what="the end of the others")


main()
