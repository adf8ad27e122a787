#!/usr/bin/env python3
"""How `kvfall run` leaves its terminal: signals, stops and closed windows, before, during and after the run."""
import os
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from reports import case
from runs import healthy, last_run, rows, run_folders, write
from screens import (RUNNING, SMALL, VIEWS, Line, begin, events, hold, interrupted, intervals, leave, left_out,
                     process_state, same_modes, stopped_by, under_way)
from tap import KVFALL, database, home, main, need_tool, run, wait_until
from tmux import Terminal


for _number, _status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
    def stopped(number=_number, status=_status):
        with Terminal() as t:
            before = t.modes()
            begin(t)
            os.kill(last_run()["pid"], number)
            assert t.status() == status
            same_modes(t, before)
            interrupted(t, "stopped by %s" % number.name)

    case("kill with %s ends the run at once, exit status %d" % (_number.name, _status))(stopped)


@case("Ctrl-Z gives the terminal back and stops, fg goes on; the time between is in no duration")
def _():
    with Terminal() as t:
        before = t.modes()
        begin(t)
        pid = last_run()["pid"]
        t.keys("C-z")
        t.status()  # the shell has the terminal
        wait_until(lambda: process_state(pid) == "T", what="the stop")
        same_modes(t, before)
        hold(2)
        t.foreground()
        t.wait_for(RUNNING)
        assert t.flag("alternate_on") == "1"
        assert leave(t) == 0
        same_modes(t, before)
        left_out(2)
        said = events()
        assert [one for one in said if "SIG" in one] == ["paused by SIGTSTP", "resumed by SIGCONT"], said


@case("a run that was paused before Ctrl-Z is paused after fg")
def _():
    with Terminal() as t:
        begin(t)
        t.keys("Space")
        t.wait_for("PAUSED")
        for _ in range(2):
            t.keys("C-z")
            t.status()
            t.foreground()
            t.wait_for("PAUSED")
        t.keys("Space")
        t.wait_for(RUNNING)
        assert leave(t) == 0


@case("at the end the verdict stays until a key, then the summary is on the terminal")
def _():
    with Terminal() as t:
        before = t.modes()
        begin(t, {"run.duration": "1s"})
        t.wait_for("COMPLETED")
        wait_until(lambda: last_run()["status"] == "completed", what="the end of the run in the database")
        hold(1.5)
        assert "COMPLETED" in t.title() and not t.ended(), t.screen()
        t.keys("2")  # a look at another view is not the end
        t.wait_for("COMPLETED")
        t.keys("q")
        assert t.status() == 0
        assert re.search(r"^COMPLETED", t.all(), re.MULTILINE) and "Bottleneck:" in t.all(), t.all()
        same_modes(t, before)


@case("SIGTERM while the verdict stands: the run had completed, exit status 0")
def _():
    with Terminal() as t:
        before = t.modes()
        begin(t, {"run.duration": "1s"})
        t.wait_for("COMPLETED")
        os.kill(last_run()["pid"], signal.SIGTERM)
        assert t.status() == 0
        same_modes(t, before)
        assert re.search(r"^COMPLETED", t.all(), re.MULTILINE), t.all()
        assert last_run()["status"] == "completed" and run(["show"]).stdout.startswith("COMPLETED")


@case("a question that is open when the run ends does not hinder leaving")
def _():
    with Terminal() as t:
        before = t.modes()
        for key, question in (("m", "Note:"), ("q", "y/n"), ("t", "Go to run time:")):
            begin(t, {"run.duration": "1s"})
            t.keys(key)
            t.wait_for(question)
            t.wait_for("COMPLETED")
            t.wait_gone(question)
            t.keys("q")
            assert t.status() == 0
            same_modes(t, before)
        assert {row["status"] for row in rows("SELECT status FROM runs")} == {"completed"}
        assert events("mark") == [], events()


@case("the verdict can be looked back from and left by q wherever one is")
def _():
    with Terminal(30, 100) as t:
        before = t.modes()
        begin(t, {"run.duration": "1s"})
        t.wait_for("COMPLETED")
        t.keys("3")
        t.wait_for(VIEWS["3"])
        t.keys("Left")
        t.wait_for("LOOKING BACK")
        t.keys("q")
        assert t.status() == 0
        same_modes(t, before)


@case("Ctrl-\\ ends the process at once, also where SIGQUIT is ignored")
def _():
    with Terminal() as t:
        before = t.modes()
        t.shell("ulimit -c 0")
        for trap in ("", "trap '' QUIT"):
            t.shell(trap or ":")
            begin(t)
            pid = last_run()["pid"]
            t.keys("C-\\")
            assert t.status() == 128 + signal.SIGQUIT
            same_modes(t, before)
            assert not pathlib.Path("/proc/%d" % pid).exists()
        assert '"status": "crashed"' in run(["history", "--json"]).stdout
        assert healthy()


@case("SIGTERM right after the start, with the screen or before it: exit status 143, nothing hangs")
def _():
    path = write(SMALL)
    for delay in (None, 0, 0.01, 0.03, 0.08):
        with Line(["run", path], read=True) as line:
            # The handler is there before the database is.
            if delay is None:
                wait_until(lambda: database().exists() or line.process.poll() is not None, what="the database")
            else:
                hold(delay)
            line.process.send_signal(signal.SIGTERM)
            status = line.process.wait(20)
            assert status == 143 or (status == -signal.SIGTERM and delay is not None and not line.seen), \
                (delay, status, line.seen)
        if database().exists():
            assert {row["status"] for row in rows("SELECT status FROM runs")} <= {"interrupted"}
            assert healthy()
        assert run_folders() == []


@case("a shell whose window is closed: its run ends as interrupted, with results")
def _():
    write(SMALL)
    with Line(["--norc", "--noprofile", "-i"], program=need_tool("bash"), read=True,
              env={"PS1": "ready> ", "HISTFILE": None}) as line:
        wait_until(lambda: b"ready> " in line.seen, what="the prompt")
        line.type(b"%s run small.yaml\n" % os.fsencode(KVFALL))
        under_way()
        pid = last_run()["pid"]
        try:
            # The shell says it to its jobs, the terminal says it once more.
            os.kill(line.process.pid, signal.SIGHUP)
            line.close()
            wait_until(lambda: not pathlib.Path("/proc/%d" % pid).exists(), what="the end of the run")
        finally:
            if pathlib.Path("/proc/%d" % pid).exists():
                os.kill(pid, signal.SIGKILL)
    stopped_by("SIGHUP")


@case("without a shell that could continue it, Ctrl-Z does not freeze the run")
def _():
    with Line(["run", write(SMALL)], read=True) as line:
        under_way()
        for count in (1, 2):
            line.type(b"\x1a")
            wait_until(lambda: events().count("resumed by SIGCONT") == count, what="the pause and its end")
            seen = intervals()
            wait_until(lambda: intervals() > seen + 2, what="intervals after Ctrl-Z")
            assert process_state(line.process.pid) != "T"
        line.type(b"qy")
        assert line.process.wait(30) == 0
    stopped_by("")


@case("a terminal that stops reading: the run goes on, ends by itself or by a signal, and is stored")
def _():
    with Line(["run", write({**SMALL, "run.duration": "2s", "run.interval": "50ms"}, "ends.yaml"),
               "--db", "ends.db"]) as ends, Line(["run", write(SMALL)]) as stopped:
        wait_until(lambda: intervals() > 10, what="intervals although nobody reads")
        stopped.process.send_signal(signal.SIGTERM)
        assert stopped.process.wait(30) == 143
        assert ends.process.wait(30) == 0
    stopped_by("SIGTERM")
    path = home() / "work/ends.db"
    assert last_run(path)["status"] == "completed" and healthy(path)


@case("a terminal that goes away: the run ends as interrupted, exit status 129")
def _():
    with Line(["run", write(SMALL)]) as line:
        under_way(3)
        line.close()
        assert line.process.wait(30) == 129
    stopped_by("SIGHUP")


main()
