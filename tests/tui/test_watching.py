#!/usr/bin/env python3
"""`kvfall watch` in a real terminal: the list to choose from, a run that goes on, and the way through time."""
import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from reports import case
from runs import last_run, rows, start, write
from screens import (RUNNING, SMALL, VIEWS, Line, begin, clock, hold, intervals, leave, same_modes, under_way)
from tap import database, finish, home, main, run, wait_until
from tmux import Terminal

SHORT = {**SMALL, "run.interval": "100ms"}
LIST = "runs of the database"


def make(name, changes=None):
    """A run from its beginning to its end."""
    got = finish(start({**SHORT, "name": name, "run.duration": "200ms", **(changes or {})}))
    assert got.rc == 0, got


def chosen(t, name):
    """The line of the list that the bar is on, by its attribute."""
    lines = [line for line in t.coloured().split("\n") if re.search(r"\b(alpha|beta|gamma)\b", line)]
    plain = [line for line in lines if name not in line]
    marked = [line for line in lines if name in line]
    assert len(marked) == 1, t.screen()
    first = re.match(r"(\x1b\[[\d;]*m)*", marked[0]).group()
    return "\x1b[" in first and all(re.match(r"(\x1b\[[\d;]*m)*", line).group() != first for line in plain)


def make_three():
    for name in ("alpha", "beta", "gamma"):
        make(name)


@case("without RUN a list of the runs is offered: arrows choose, Enter shows, q leaves")
def _():
    make_three()
    with Terminal() as t:
        before = t.modes()
        t.start("watch")
        screen = t.wait_for(LIST)
        assert re.search(r"gamma .*\n.*beta .*\n.*alpha ", screen), screen  # the newest first
        t.wait_for("1 of 3")
        wait_until(lambda: chosen(t, "gamma"), what="the bar on gamma")
        t.keys("Up")
        t.keys("Down", "Down", "Down")
        t.wait_for("3 of 3")
        t.keys("Up")
        t.wait_for("2 of 3")
        wait_until(lambda: chosen(t, "beta"), what="the bar on beta")
        t.keys("End")
        t.wait_for("3 of 3")
        t.keys("Home", "Down", "Enter")
        t.wait_for(re.compile(r"^ kvfall  beta .* COMPLETED", re.MULTILINE))
        t.keys("q")  # back to the list, with the bar where it was
        t.wait_for("2 of 3")
        t.keys("Down", "Enter")
        t.wait_for(re.compile(r"^ kvfall  alpha .* COMPLETED", re.MULTILINE))
        t.keys("q")
        t.wait_for("3 of 3")
        t.keys("q")
        assert t.status() == 0
        same_modes(t, before)
        assert "COMPLETED" not in t.all()  # a watch has no summary of its own
        for key in ("q", "C-c", "Escape"):
            t.start("watch")
            t.wait_for(LIST)
            t.keys(key)
            assert t.status() == 0
            same_modes(t, before)


@case("the list has a curve of each run and the verdict of the one under the bar; two that are marked stand side by side")
def _():
    make_three()
    stands = "2 of 3 targets met, 1 not judged (46 of 100 requests that its percentile needs)"
    with contextlib.closing(sqlite3.connect(database(), isolation_level=None)) as db:
        db.execute("UPDATE verdicts SET limited_by = 'none', sentence = ? WHERE run_id = 1", ("none: %s; the most loaded is cpu" % stands,))
    with Terminal(30, 120) as t:
        t.start("watch")
        t.wait_for("1 of 3")
        (verdict,) = rows("SELECT bottleneck FROM runs WHERE name = 'gamma'")
        t.wait_for(" %s" % verdict["bottleneck"][:60])
        for name in ("alpha", "beta", "gamma"):
            assert re.search(r"^ .*%s .* [▁▂▃▄▅▆▇█ ]*[▁▂▃▄▅▆▇█]" % name, t.screen(), re.MULTILINE), t.screen()
        t.keys("m")
        t.wait_for("m on another run shows both")
        t.keys("End", "m")
        t.wait_for("two runs")
        screen = t.wait_for(" requests/s ")
        assert re.search(r"^ A +run 3 +gamma .*\n B +run 1 +alpha .* " + re.escape(stands[:40]), screen, re.MULTILINE), screen
        stored = {row["run_id"]: row["value"] for row in rows("SELECT run_id, value FROM results WHERE metric = 'requests_per_s'")}
        (line,) = re.findall(r"^ requests/s +(\S+) +(\S+) +([+-]?[\d.]+) %", screen, re.MULTILINE)
        a, b = (float(text.rstrip("k")) * (1000 if text.endswith("k") else 1) for text in line[:2])
        assert abs(a / stored[3] - 1) < 0.02 and abs(b / stored[1] - 1) < 0.02, (line, stored)
        assert abs(float(line[2]) - (stored[1] / stored[3] - 1) * 100) < 0.2, (line, stored)
        for title in ("Throughput, tok/s", "End-to-end P95"):
            assert re.search(title + r" .*━ A +━ B", screen), screen
        t.keys("Escape")
        t.wait_for("3 of 3")
        t.keys("Home", "m", "m")  # a mark is taken away by its key
        t.keys("q")
        assert t.status() == 0


@case("the terminal's background chooses between dark and light; a theme of the user's stays")
def _():
    make("alpha")

    def first_line(background, *options):
        with Terminal() as t:
            t._ask("select-pane", "-t", "case", "-P", "bg=%s" % background)
            t.start("watch", "1", *options)
            t.wait_for("COMPLETED")
            wanted = options and options[-1] or ("light" if background == "#ffffff" else "dark")
            if wanted in looks:
                wait_until(lambda: t.coloured().split("\n")[0] == looks[wanted], what="the %s theme" % wanted)
            return t.coloured().split("\n")[0]

    looks = {}
    looks["light"] = first_line("#000000", "--theme", "light")
    looks["dark"] = first_line("#ffffff", "--theme", "dark")
    assert looks["light"] != looks["dark"]
    first_line("#ffffff")
    first_line("#002b36")


@case("d deletes a run of the list after a question; tags are filtered like all else")
def _():
    make_three()
    assert run(["tag", "beta", "nightly"]).rc == 0
    with Terminal() as t:
        t.start("watch")
        t.wait_for("1 of 3")
        t.keys("/")
        t.type("nightly")
        t.wait_gone("alpha")
        t.keys("Enter", "d")
        t.wait_for("Delete this run")
        t.keys("n")
        t.wait_for("1 of 1")
        t.keys("d")
        t.wait_for("Delete this run")
        t.keys("y")
        t.wait_for("1 run deleted")
        t.wait_for("gamma")
        t.keys("Home")
        t.wait_for("1 of 2")
        t.keys("q")
        assert t.status() == 0
    assert [row["name"] for row in rows("SELECT name FROM runs ORDER BY run_id")] == ["alpha", "gamma"]


@case("settings that were kept are those that the next screen begins with")
def _():
    make("alpha")
    with Terminal() as t:
        t.start("watch", "latest")
        t.wait_for("LIMITED BY")
        t.keys(":")
        t.type("set view tiers")
        t.keys("Enter")
        t.wait_for("demoted/s")
        t.keys(":")
        t.type("save config")
        t.keys("Enter")
        t.wait_for("are kept in")
        t.keys("q")
        assert t.status() == 0
        assert (home() / ".config/kvfall/config").read_text() == 'view: "tiers"\n'
        t.start("watch", "latest")
        t.wait_for("demoted/s")


@case("trials stand in the list with their numbers, however long the name is")
def _():
    make("alpha", {"run.trials": 2})
    make("gamma-with-a-name-beyond-its-column", {"run.trials": 2})
    with Terminal() as t:
        t.start("watch")
        screen = t.wait_for("1 of 4")
        assert re.search(r" 4  gamma-with-a-nam 2/2  completed .*\n +3  gamma-with-a-nam 1/2  completed ", screen), screen
        assert re.search(r" 2  alpha 2/2 +completed .*\n +1  alpha 1/2 +completed ", screen), screen
        t.keys("q")
        assert t.status() == 0


@case("/ filters the list, Enter ends the typing, Escape drops the filter")
def _():
    make_three()
    with Terminal() as t:
        t.start("watch")
        t.wait_for(LIST)
        t.keys("/")
        t.wait_for("Show only:")
        t.type("eTa")
        t.wait_gone("alpha")
        t.keys("Enter")
        t.wait_for("1 of 1")
        t.keys("/")
        t.wait_for("Show only:")
        t.type("q no such run")  # q is a letter here
        t.wait_for("none matches the filter")
        t.keys("Enter")
        t.wait_for("0 of 0")
        t.keys("Enter")  # there is nothing to show
        t.keys("/")
        t.wait_for("Show only:")
        t.keys("Escape")
        t.wait_for("of 3")
        t.keys("/")
        t.type("alpha")
        t.keys("Enter")
        t.wait_for("1 of 1")
        t.keys("Enter")
        t.wait_for(re.compile(r"^ kvfall  alpha .* COMPLETED", re.MULTILINE))
        t.keys("q")
        t.wait_for("of 3")
        t.keys("q")
        assert t.status() == 0


@case("signals end the list and the watch, with their exit statuses; Ctrl-Z and fg work in both")
def _():
    make("alpha")
    with Terminal() as t:
        before = t.modes()
        for run, shown in (((), LIST), (("latest",), "COMPLETED")):
            t.start("watch", *run)
            t.wait_for(shown)
            t.keys("C-z")
            t.status()
            same_modes(t, before)
            t.foreground()
            t.wait_for(shown)
            os.kill(t.children()[0], signal.SIGTERM)
            assert t.status() == 128 + signal.SIGTERM
            same_modes(t, before)


@case("a run that goes on is followed within two intervals, and its end is seen")
def _():
    process = start({**SMALL, "run.duration": "4s", "run.interval": "500ms"})
    under_way(1)
    with Terminal() as t:
        before = t.modes()
        t.start("watch", "latest")
        t.wait_for(RUNNING)
        lags = []
        while process.poll() is None and len(lags) < 40:
            stored_s = rows("SELECT max(t_s) AS t FROM intervals")[0]["t"]
            if "RUNNING" in t.title() and stored_s < 4:
                lags.append(stored_s - clock(t))
            hold(0.05)
        assert len(lags) > 5 and max(lags) < 2 * 0.5 + 0.1, lags
        assert finish(process).rc == 0
        t.wait_for("COMPLETED")
        shown_s, last_s = clock(t), rows("SELECT max(t_s) AS t FROM intervals")[0]["t"]
        assert abs(shown_s - last_s) < 1, (shown_s, last_s)
        hold(0.5)
        assert not t.ended()  # it stays until it is left
        t.keys("q")
        assert t.status() == 0
        same_modes(t, before)


@case("a run of another process cannot be changed, and is none the worse for being watched")
def _():
    process = start(SMALL)
    under_way()
    with Terminal() as t:
        t.start("watch", "latest")
        t.wait_for(RUNNING)
        for key in (" ", "+", "-", "]", "[", "g", "m", ">", "<", "f"):
            t.type(key)
            t.wait_for("it can be watched, not changed")
            t.keys("c")
            t.wait_for("colours:")
        t.keys("q")
        assert t.status() == 0
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert finish(process).rc == 143
    assert [row["message"] for row in rows("SELECT * FROM events WHERE message LIKE '%key%'")] == []


@case("a pause made in the live screen is seen by who watches")
def _():
    with Line(["run", write(SMALL)], read=True) as line, Terminal() as t:
        under_way()
        t.start("watch", "latest")
        t.wait_for(RUNNING)
        line.type(b" ")
        t.wait_for("PAUSED")
        line.type(b" ")
        t.wait_for(RUNNING)
        t.keys("q")
        assert t.status() == 0
        line.type(b"qy")
        assert line.process.wait(30) == 0


@case("a run that is killed while it is watched has crashed")
def _():
    process = start(SMALL)
    under_way()
    with Terminal() as t:
        t.start("watch", "latest")
        t.wait_for(RUNNING)
        process.kill()
        process.wait()
        t.wait_for("CRASHED")
        t.keys("Left")
        t.wait_for("LOOKING BACK")
        t.keys("q")
        assert t.status() == 0


def step_through(t, last_s, newest):
    """All ways through time, from an end of which the clock shows last_s; a second between two intervals."""
    def expect(seconds, what="LOOKING BACK"):
        text = "%02d:%02d / " % divmod(seconds, 60)
        t.wait_for(re.compile(r"\A kvfall .* %s.* %s" % (text, what)))

    expect(last_s, newest)
    t.keys("Left")
    expect(last_s - 1)
    t.keys("Left", "Left", "Right")
    expect(last_s - 2)
    t.keys("S-Left")
    expect(last_s - 12)
    t.keys("S-Right")
    expect(last_s - 2)
    t.keys("S-Left", "S-Left", "S-Left")
    expect(1)
    t.keys("Right")
    expect(2)
    t.keys("End")
    expect(last_s, newest)
    t.keys("Home")
    expect(1)
    for typed, seconds in (("0:07", 7), ("12", 12), ("5s", 5), ("0:03.2", 3)):
        t.keys("t")
        t.wait_for("Go to run time:")
        t.type(typed)
        t.keys("Enter")
        expect(seconds)
    t.keys("t")
    t.wait_for("Go to run time:")
    t.type("7h")
    t.keys("Escape")
    t.keys("t")
    t.type("then")
    t.keys("Enter")
    t.wait_for("\"then\" is not a run time")
    expect(3)
    for key in "2345681":  # every view shows that moment
        t.keys(key)
        t.wait_for(VIEWS[key])
        expect(3)
    t.keys("End")
    expect(last_s, newest)


@case("a finished run: arrows, shift, Home, End and t go through its time, in every view")
def _():
    make("alpha", {"run.duration": "2500ms"})
    # Seconds between the intervals, so that the clock tells them apart.
    connection = sqlite3.connect(database())
    connection.execute("UPDATE intervals SET t_s = seq + 1, length_s = 1")
    connection.execute("UPDATE runs SET effective_json = json_set(effective_json, '$.run.interval', '1s')")
    connection.commit()
    last_s = int(connection.execute("SELECT max(t_s) FROM intervals").fetchone()[0])
    connection.close()
    assert last_s >= 20
    with Terminal(30, 100) as t:
        t.start("watch", "alpha")
        step_through(t, last_s, "COMPLETED")
        t.keys("q")
        assert t.status() == 0
        t.start("watch", "alpha", "--view", "numbers")
        t.wait_for(re.compile(r"^ *all tok/s TTFT P95 .*\n. +00:%02d " % last_s, re.MULTILINE))
        t.keys("Down", "Down")
        t.wait_for(re.compile(r"^▶  00:%02d " % (last_s - 2), re.MULTILINE))
        t.keys("Enter")
        t.wait_for(re.compile(r"\A kvfall .* 00:%02d / .* LOOKING BACK" % (last_s - 2)))
        t.keys("q")
        assert t.status() == 0
        t.start("watch", "alpha", "--at", "0:06", "--view", "tiers")
        t.wait_for(VIEWS["2"])
        t.wait_for(re.compile(r"\A kvfall .* 00:06 / .* LOOKING BACK"))
        t.keys("q")
        assert t.status() == 0


@case("time travel in a run that goes on, watched and live: it goes on meanwhile, End is the present")
def _():
    for live in (False, True):
        process = None
        with Terminal(30, 100) as t:
            if live:
                begin(t)
            else:
                process = start(SMALL)
                under_way()
                t.start("watch", "latest")
                t.wait_for(RUNNING)
            newest = "SELECT max(t_s) AS t FROM intervals WHERE run_id = (SELECT max(run_id) FROM runs)"
            wait_until(lambda: (rows(newest)[0]["t"] or 0) > 3, what="some seconds of the run")
            t.keys("Left")
            t.wait_for("LOOKING BACK")
            seen_s, before = clock(t), rows(newest)[0]["t"]
            wait_until(lambda: rows(newest)[0]["t"] > before + 0.5, what="more intervals")
            assert "LOOKING BACK" in t.title() and clock(t) == seen_s, t.screen()
            for key, moved_s in (("Left", -0.2), ("S-Left", -2.0), ("Right", 0.2), ("S-Right", 2.0), ("Left", -0.2)):
                from_s = clock(t)
                t.keys(key)
                wait_until(lambda: clock(t) != from_s, what="another moment after %s" % key)
                assert abs(clock(t) - max(from_s + moved_s, 0.2)) < 0.15, (key, from_s, t.screen())
                assert "LOOKING BACK" in t.title(), t.screen()
            t.keys("Home")
            first_s = rows(newest.replace("max(t_s)", "min(t_s)"))[0]["t"]  # 0.2, and later where the machine is busy
            wait_until(lambda: abs(clock(t) - first_s) < 0.1 and "LOOKING BACK" in t.title(), what="the first interval")
            t.keys("t")
            t.wait_for("Go to run time:")
            t.type("0:01.1")
            t.keys("Enter")
            t.wait_for(re.compile(r"\A kvfall .* 00:01\.[012] / .* LOOKING BACK"))
            t.keys("7")
            screen = t.wait_for("does not keep them")
            assert "LOOKING BACK" in screen, screen
            t.keys("End")
            t.wait_for(RUNNING)
            assert clock(t) >= seen_s, t.screen()
            if live:
                assert leave(t) == 0
            else:
                t.keys("q")
                assert t.status() == 0
                process.send_signal(signal.SIGTERM)
                assert finish(process).rc == 143


@case("--db none: there is no way back, and nothing is made")
def _():
    with Terminal() as t:
        begin(t, None, "--db", "none")
        for key in ("Left", "Home", "S-Right"):
            t.keys(key)
            t.wait_for("earlier moments are not available: this run has no database")
            assert "RUNNING" in t.title(), t.screen()
            t.keys("c")
            t.wait_for("colours:")
        assert leave(t) == 0
        assert not database().exists() and "INTERRUPTED" in t.all()


@case("a window that closes ends the watch, not the run")
def _():
    process = start(SMALL)
    under_way()
    with Line(["watch", "latest"], read=True) as line:
        wait_until(lambda: b"kvfall" in line.seen, what="the screen")
        line.close()
        status = line.process.wait(20)
        assert status in (0, 129), (status, line.seen[-500:])
    seen = intervals()
    wait_until(lambda: intervals() > seen + 2, what="intervals of the run")
    process.send_signal(signal.SIGTERM)
    assert finish(process).rc == 143


main()
