#!/usr/bin/env python3
"""A run that is interrupted, paused, or cut off from whoever reads it."""
import json
import os
import pathlib
import re
import signal
import sqlite3
import threading
import time

from runs import check_identities, healthy, last_run, result, rows, run_folders, start
from tap import case, database, finish, home, main, run, spawn, wait_until

LONG = {"run.duration": "60s"}
# Memory alone: nothing of a slow disk is in its latencies.
MEMORY = {"tiers.nvme": None, "run.interval": "50ms"}


def intervals():
    """Intervals with requests done that are in the database by now."""
    try:
        return rows("SELECT count(*) AS n FROM intervals WHERE done > 0")[0]["n"]
    except sqlite3.Error:
        return 0


def under_way(least=2):
    wait_until(lambda: intervals() >= least, what="%d intervals in the database" % least)


def state(process):
    return pathlib.Path("/proc/%d/stat" % process.pid).read_text().rsplit(")", 1)[1].split()[0]


def hold(seconds):
    """Lets time pass, which is what the case is about."""
    threading.Event().wait(seconds)


for _number, _status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
    def stopped(number=_number, status=_status):
        process = start(LONG, "--json", "out.json")
        under_way()
        process.send_signal(number)
        got = finish(process)
        assert got.rc == status and got.stdout.startswith("INTERRUPTED"), got
        assert "Bottleneck:" in got.stdout and "stopped by %s" % number.name in got.stdout, got
        summary = json.loads((home() / "work/out.json").read_text())
        check_identities(summary)
        assert summary["run"]["status"] == "interrupted" and result(summary, "requests_done") > 0, summary["run"]
        about = last_run()
        assert about["status"] == "interrupted" and number.name in about["status_reason"], about
        assert run(["show"]).stdout == got.stdout
        assert rows("SELECT count(*) AS n FROM results")[0]["n"] == len(summary["results"])
        assert run_folders() == [] and healthy()

    case("%s ends the run, its results are kept, exit status %d" % (_number.name, _status))(stopped)


@case("stopped in the preparation: interrupted, without results, nothing left behind")
def _():
    # Ten entries a user are written before the clock: far more than the test waits for.
    process = start({**LONG, "workload.phase": "decode", "workload.users": 100000, "tiers.nvme.capacity": "1GiB"})
    wait_until(lambda: list((home() / "work").glob("kvfall-*/*/*.kv")), what="an entry on the disk")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and got.stdout.startswith("INTERRUPTED"), got
    about = last_run()
    assert about["status"] == "interrupted" and about["ended_at"], about
    assert rows("SELECT count(*) AS n FROM intervals")[0]["n"] == 0 and run_folders() == []


@case("the second signal ends it at once, without waiting for the database")
def _():
    process = start(LONG)
    under_way()
    keeper = sqlite3.connect(database(), isolation_level=None)
    keeper.execute("BEGIN IMMEDIATE")  # what is still to be stored has to wait, the end of the run with it
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: not run_folders(), what="the end of the run")
    assert process.poll() is None
    hold(0.3)  # at once it would be an echo of the first
    process.send_signal(signal.SIGTERM)
    got = finish(process, timeout=5)
    keeper.rollback()
    keeper.close()
    assert got.rc == 143 and got.stdout == "", got
    assert healthy() and last_run()["status"] == "running"
    assert json.loads(run(["history", "--json"]).stdout)[0]["status"] in ("crashed", "running")


@case("SIGTSTP stops the process, SIGCONT resumes it, and the time between is in no figure")
def _():
    process = start({**MEMORY, "run.duration": "500ms"}, "--json", "out.json")
    under_way(1)
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: state(process) == "T", what="the stop")
    hold(1.5)
    process.send_signal(signal.SIGCONT)
    got = finish(process)
    assert got.rc == 0, got
    summary = json.loads((home() / "work/out.json").read_text())
    check_identities(summary)
    about = last_run()
    assert about["ended_at"] - about["started_at"] - result(summary, "measured_s") > 1.5, (about, summary["results"])
    assert result(summary, "e2e_max_ms") < 1500 and result(summary, "lateness_max_ms") < 1500, summary["results"]
    assert rows("SELECT max(length_s) AS s FROM intervals")[0]["s"] < 1.5
    said = [event["message"] for event in summary["events"]]
    assert said == ["paused by SIGTSTP", "resumed by SIGCONT"], summary["events"]


@case("a second stop is as good as the first, and a run that was resumed can be ended")
def _():
    process = start({**MEMORY, **LONG})
    under_way(1)
    for _ in range(3):
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state(process) == "T", what="the stop")
        process.send_signal(signal.SIGCONT)
        seen = intervals()
        wait_until(lambda: intervals() > seen, what="an interval after the stop")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and last_run()["status"] == "interrupted", got


@case("a signal that was ignored at the start stays ignored, as under nohup")
def _():
    def nohup():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = start(LONG, preexec_fn=nohup)
    under_way(1)
    process.send_signal(signal.SIGHUP)
    seen = intervals()
    wait_until(lambda: intervals() > seen + 1, what="intervals after the hangup")
    process.send_signal(signal.SIGTERM)
    got = finish(process)
    assert got.rc == 143 and "stopped by SIGTERM" in got.stdout, got


@case("a reader that has gone: the run ends well, and then by the signal, without a word; a program that asked about the pipe is told")
def _():
    process = start({"run.duration": "200ms"})
    process.stdout.close()
    process.stdout = None
    err = process.stderr.read().decode()
    assert process.wait(30) == -signal.SIGPIPE and "standard output" not in err, err
    assert last_run()["status"] == "completed" and run_folders() == []
    assert run(["show"]).stdout.startswith("COMPLETED")
    for ignored, status, args in ((False, -signal.SIGPIPE, ["show"]), (True, 1, ["show"]),
                                  (False, -signal.SIGPIPE, ["suite", "--plan", "--quick"])):
        reader, pipe = os.pipe()
        os.close(reader)
        shown = spawn(args, restore_signals=not ignored, stdout=pipe)
        os.close(pipe)
        err = shown.stderr.read().decode()
        assert shown.wait(30) == status and ("Broken pipe" in err) == ignored, (ignored, shown.returncode, err)


@case("a full standard output: exit 1 with a sentence, the JSON file and the history are complete")
def _():
    for options in ((), ("--json", "-")):
        with open("/dev/full", "w") as full:
            got = finish(start({"run.max_requests": 5}, *options, stdout=full))
        assert got.rc == 1 and got.stderr.endswith("to standard output: No space left on device\n"), got
        assert last_run()["status"] == "completed"
    with open("/dev/full", "w") as full:
        got = finish(start({"run.max_requests": 5}, "--json", "out.json", stdout=full))
    assert got.rc == 1, got
    check_identities(json.loads((home() / "work/out.json").read_text()))


@case("a log that cannot be written whole: the run fails and names it, keep-going keeps it")
def _():
    for option in ("--io-trace", "--request-log"):
        got = finish(start({"run.max_requests": 5}, option, "/dev/full"))
        assert got.rc == 1 and "the log /dev/full is incomplete: No space left on device" in got.stderr, got
        assert last_run()["status"] == "failed"
    got = finish(start({"run.max_requests": 5}, "--keep-going", "--io-trace", "/dev/full"))
    assert got.rc == 0 and "the log /dev/full is incomplete" in got.stdout, got


@case("nobody who reads the progress is no reason to end")
def _():
    process = start({"run.duration": "300ms"})
    process.stderr.close()
    process.stderr = None
    out = process.stdout.read().decode()
    assert process.wait(30) == 0 and out.startswith("COMPLETED"), out
    with open("/dev/full", "w") as full:
        got = finish(start({"run.max_requests": 5}, stderr=full))
    assert got.rc == 0 and got.stdout.startswith("COMPLETED"), got


@case("standard streams that are closed from the start do not end up in files of the run")
def _():
    def closed():
        for number in (0, 1, 2):
            os.close(number)

    process = start({"run.max_requests": 20, "run.duration": "60s", "cache.verify": "full"}, "--request-log", "log",
                    stdin=None, stdout=None, stderr=None, preexec_fn=closed)
    assert process.wait(30) == 1  # the summary is lost
    lines = (home() / "work/log").read_text().splitlines()
    assert len(lines) == 20 and all(json.loads(line)["failed"] is False for line in lines), lines[:3]
    assert last_run()["status"] == "completed" and healthy()


main()
