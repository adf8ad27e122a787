#!/usr/bin/env python3
"""`kvfall run` in a real terminal: what it shows, what keys do, and how it leaves."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import sys
import termios
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from runs import healthy, last_run, rows, run_folders, write
from tap import case, home, main, spawn, wait_until
from tmux import Terminal

# Two tiers that are quick to set up, on requests that never end by themselves.
SMALL = {"tiers.gpu": None, "run.duration": "60s", "run.interval": "200ms"}
CLOCK = re.compile(r"(\d+:\d\d(?:\.\d)?) / (\d+:\d\d)")
RUNNING = re.compile(r"^ kvfall .* RUNNING *$", re.MULTILINE)
VIEWS = {"1": "Bottleneck", "2": "evict", "3": "P99", "4": "SLO met", "5": "Changes by hand", "6": "CPU",
         "7": "Requests in service", "8": None, "?": "Words and signs"}


def hold(seconds):
    """Lets time pass, which is what the case is about."""
    threading.Event().wait(seconds)


def begin(t, changes=None, *options, before=""):
    """Starts a run of the small scenario and waits for its screen."""
    write({**SMALL, **(changes or {})})
    t.start("run", "small.yaml", *options, before=before)
    t.wait_for(RUNNING)


def leave(t):
    """q, and yes."""
    t.keys("q")
    t.wait_for("y/n")
    t.keys("y")
    return t.status()


def events(level=None):
    return [row["message"] for row in rows("SELECT * FROM events ORDER BY run_id, n")
            if level in (None, row["level"])]


def stored_event(text):
    wait_until(lambda: any(text in message for message in events()), what="the event %r in the database" % text)


def interrupted(t, reason):
    """What is true of every run that was ended by somebody."""
    about = last_run()
    assert about["status"] == "interrupted" and reason in about["status_reason"], about
    assert "INTERRUPTED" in t.all() and "Bottleneck:" in t.all(), t.all()
    assert healthy() and run_folders() == []
    assert rows("SELECT count(*) AS n FROM results")[0]["n"] > 0


def same_modes(t, before):
    """The terminal as it was: modes, the cursor, the main screen."""
    assert t.modes() == before
    for flag, value in (("alternate_on", "0"), ("cursor_flag", "1"), ("mouse_any_flag", "0"), ("keypad_flag", "0"),
                        ("insert_flag", "0")):
        wait_until(lambda: t.flag(flag) == value, what="%s %s" % (flag, value))


def process_state(pid):
    return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0]


@case("a run in a terminal shows the overview, and q ends it properly after asking once")
def _():
    with Terminal() as t:
        before = t.modes()
        begin(t)
        screen = t.wait_for("Bottleneck:")
        for word in ("kvfall  small", "real", "cpu", "nvme", "q quit"):
            assert word in screen, screen
        t.keys("q")
        t.wait_for("y/n")
        t.keys("n")
        t.wait_gone("y/n")
        t.wait_for(RUNNING)
        assert leave(t) == 0
        same_modes(t, before)
        interrupted(t, "")


@case("Ctrl-C asks as q does, and ends with exit status 0")
def _():
    with Terminal() as t:
        before = t.modes()
        begin(t)
        t.keys("C-c")
        t.wait_for("y/n")
        t.keys("C-c")
        assert t.status() == 0
        same_modes(t, before)
        interrupted(t, "")


@case("numbers and Tab go through the views, ? helps and goes back")
def _():
    with Terminal(30, 100) as t:
        begin(t)
        for key, words in VIEWS.items():
            t.keys(key)
            t.wait_for(words or "8")
        t.keys("?")
        t.wait_gone("Words and signs")
        t.keys("1")
        t.wait_for("Bottleneck:")
        for key in ("4", "5", "7"):
            t.keys("Tab")
            if key == "4":  # overview, tiers, latency, queue
                t.keys("Tab", "Tab")
            if key == "7":  # autoscaler, system, requests
                t.keys("Tab")
            t.wait_for(VIEWS[key])
        t.keys("BTab", "BTab", "BTab")
        t.wait_for(VIEWS["4"])
        assert leave(t) == 0


@case("space pauses: the clock stands still, and the time is in no duration")
def _():
    with Terminal() as t:
        begin(t, {"run.duration": "3s"})
        t.keys("Space")
        t.wait_for("PAUSED")
        seen = CLOCK.search(t.title()).group(1)
        hold(3.5)  # longer than the whole run
        assert "PAUSED" in t.title() and CLOCK.search(t.title()).group(1) == seen, t.screen()
        t.keys("Space")
        t.wait_for("COMPLETED")
        t.keys("q")
        assert t.status() == 0
        about = last_run()
        assert about["status"] == "completed", about
        assert about["ended_at"] - about["started_at"] > 6
        assert rows("SELECT max(t_s) AS t FROM intervals")[0]["t"] < 5, rows("SELECT max(t_s) AS t FROM intervals")
        assert "paused by key" in events() and "resumed by key" in events(), events()


@case("+ - ] [ change the users at once, each a stored event")
def _():
    with Terminal() as t:
        begin(t, {"workload.users": 20})
        for key, users in (("+", 22), ("-", 20), ("]", 40), ("[", 20)):
            t.type(key)
            stored_event("users %d by key" % users)
            wait_until(lambda: rows("SELECT users FROM intervals ORDER BY seq DESC LIMIT 1")[0]["users"] == users,
                       what="an interval with %d users" % users)
        t.keys("5")
        t.wait_for("users 40 by key")
        assert leave(t) == 0


@case("g changes the generation mode, m stores a mark with the note that was typed, Escape does not")
def _():
    with Terminal() as t:
        begin(t)
        t.keys("m")
        t.wait_for("Note:")
        t.type("zweite Gruppe \u00fc")
        t.wait_for("zweite Gruppe \u00fc")
        t.keys("Enter")
        stored_event("zweite Gruppe \u00fc")
        assert events("mark") == ["zweite Gruppe \u00fc"], events()
        t.keys("m")
        t.wait_for("Note:")
        t.type("never mind q")  # letters that are keys elsewhere
        t.keys("Escape")
        t.wait_gone("Note:")
        t.keys("g")
        wait_until(lambda: any("generation" in one for one in events()), what="the event of a new generation mode")
        assert len(events("mark")) == 1
        t.keys("8")
        t.wait_for("zweite Gruppe \u00fc")
        assert leave(t) == 0


@case("/ shows only what contains the text, o sorts by the next column")
def _():
    with Terminal() as t:
        begin(t, {"compute": {"mode": "realistic"}})
        t.keys("7")
        t.wait_for("generate")
        t.keys("/")
        t.wait_for("Show only:")
        t.type("no such row")
        t.keys("Enter")
        t.wait_for("no request passes the filter")
        t.keys("/", "C-u")
        t.type("GENERATE")
        t.keys("Enter")
        t.wait_for(re.compile(r"pass \"GENERATE\""))
        t.keys("/", "C-u", "Enter")
        t.wait_gone("pass \"GENERATE\"")
        first = re.search("(\\w+)[\u25b2\u25bc]", t.screen()).group(1)
        t.keys("o")
        t.wait_for(re.compile("(?!%s)\\b\\w+[\u25b2\u25bc]" % first))
        assert leave(t) == 0


@case("s writes the screen to a text file, p freezes it while the run goes on")
def _():
    with Terminal() as t:
        begin(t)
        t.wait_for("Bottleneck:")
        t.keys("s")
        files = wait_until(lambda: list((home() / "work").glob("kvfall-overview-*.txt")), what="the text file")
        text = wait_until(files[0].read_text, what="its text")
        assert text.startswith(" kvfall  small") and "Bottleneck:" in text and "\x1b" not in text, text
        assert max(len(line) for line in text.splitlines()) <= 80 and len(text.splitlines()) == 24, text
        t.keys("p")
        frozen = t.wait_for("FROZEN")
        seen, clock = rows("SELECT max(seq) AS n FROM intervals")[0]["n"], CLOCK.search(frozen).group(1)
        wait_until(lambda: rows("SELECT max(seq) AS n FROM intervals")[0]["n"] > seen + 10, what="ten intervals more")
        assert CLOCK.search(t.title()).group(1) == clock, t.screen()
        t.keys("p")
        t.wait_for(RUNNING)
        assert leave(t) == 0


@case("any size: too small is said in a line, and more room shows more")
def _():
    with Terminal() as t:
        begin(t)
        for size in ((10, 40), (60, 200), (24, 80)):
            t.resize(*size)
            t.wait_size(*size, last="quit")
        t.resize(9, 39)
        t.wait_for("40x10 needed, is 39x9")
        t.resize(1, 1)
        hold(0.3)  # nothing can be read off one cell: it has to be lived through
        t.resize(1, 30)
        t.wait_for("40x10 needed")
        t.resize(24, 80)
        t.wait_size(24, 80, last="quit")
        assert leave(t) == 0


@case("a storm of resizes is lived through")
def _():
    with Terminal() as t:
        begin(t)
        for _ in range(3):
            for size in ((10, 40), (60, 200), (1, 1), (24, 80), (5, 500), (100, 20), (12, 41), (30, 100)):
                t.resize(*size)
        t.wait_size(30, 100, last="quit")
        t.wait_for("Bottleneck:")
        assert leave(t) == 0


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
        begin(t, {"run.duration": "4s"})
        pid = last_run()["pid"]
        t.keys("C-z")
        t.status()  # the shell has the terminal
        wait_until(lambda: process_state(pid) == "T", what="the stop")
        same_modes(t, before)
        hold(4)
        t.foreground()
        t.wait_for(re.compile("RUNNING|COMPLETED"))
        assert t.flag("alternate_on") == "1"
        t.wait_for("COMPLETED")
        t.keys("q")
        assert t.status() == 0
        same_modes(t, before)
        about = last_run()
        assert about["status"] == "completed" and about["ended_at"] - about["started_at"] > 8, about
        assert rows("SELECT max(t_s) AS t FROM intervals")[0]["t"] < 6
        assert rows("SELECT max(length_s) AS s FROM intervals")[0]["s"] < 2
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


@case("NO_COLOR and --no-color: not one colour, the rest as ever")
def _():
    # Attributes such as bold and inverse may be there, colours (3x, 4x, 9x, 10x) may not.
    colour = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
    with Terminal() as t:
        begin(t)
        assert colour.search(t.coloured()), ascii(t.coloured())
        assert leave(t) == 0
        for before, options in (("NO_COLOR=1 ", ()), ("", ("--no-color",))):
            begin(t, None, *options, before=before)
            t.wait_for("Bottleneck:")
            assert not colour.search(t.coloured()), ascii(t.coloured())
            assert leave(t) == 0


@case("LANG=C, no locale and --ascii: nothing beyond ASCII in any view")
def _():
    with Terminal(30, 100) as t:
        for before, options in (("LC_ALL=C ", ()), ("LC_ALL= LC_CTYPE= LANG= ", ()), ("", ("--ascii",))):
            begin(t, None, *options, before=before)
            for key in VIEWS:
                t.keys(key)
                if VIEWS[key]:
                    t.wait_for(VIEWS[key])
                assert t.screen().isascii(), t.screen()
            assert leave(t) == 0
        begin(t)
        t.wait_for("Bottleneck:")
        assert not t.screen().isascii(), t.screen()
        assert leave(t) == 0


@case("a terminal that cannot place its cursor gets the headless lines, with one sentence that says so")
def _():
    with Terminal() as t:
        before = t.modes()
        for term in ("dumb", "no-such-terminal", ""):
            write({**SMALL, "run.duration": "500ms"})
            t.start("run", "small.yaml", before="TERM=%s " % term)
            assert t.status() == 0
            text = " ".join(t.all().split())
            assert "headless" in text and "terminal" in text, text
            assert "COMPLETED" in t.all(), t.all()
            same_modes(t, before)
        assert last_run()["status"] == "completed"


@case("--headless in a terminal is headless, and output that is no terminal too")
def _():
    with Terminal() as t:
        write({**SMALL, "run.duration": "500ms"})
        t.start("run", "--headless", "small.yaml")
        assert t.status() == 0 and t.flag("alternate_on") == "0"
        assert "COMPLETED" in t.all(), t.all()
        t.shell("$PROGRAM run small.yaml >out.txt 2>err.txt")
        assert (home() / "work/out.txt").read_text().startswith("COMPLETED")


def on_pty(changes, *options):
    """A run whose terminal nobody reads; returns the process and the other end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))

    def controlling():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    process = spawn(["run", write({**SMALL, **changes}), *options], env={"TERM": "xterm-256color"}, stdin=theirs,
                    stdout=theirs, stderr=theirs, preexec_fn=controlling)
    os.close(theirs)
    return process, ours


@case("a terminal that stops reading: the run goes on, ends by itself and is stored")
def _():
    process, ours = on_pty({"run.duration": "3s", "run.interval": "50ms"})
    try:
        assert process.wait(60) == 0
    finally:
        os.close(ours)
    about = last_run()
    assert about["status"] == "completed" and healthy() and run_folders() == [], about
    took = rows("SELECT max(length_s) AS longest, sum(length_s) AS whole FROM intervals")[0]
    assert took["longest"] < 1 and took["whole"] < 5, took


@case("a terminal that stops reading: signals end the run all the same")
def _():
    process, ours = on_pty({})
    try:
        wait_until(lambda: database_intervals() > 20, what="intervals although nobody reads")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    finally:
        os.close(ours)
    assert last_run()["status"] == "interrupted" and healthy() and run_folders() == []


@case("a terminal that goes away: the run ends as interrupted, exit status 129")
def _():
    process, ours = on_pty({})
    try:
        wait_until(lambda: database_intervals() > 2, what="intervals in the database")
    finally:
        os.close(ours)
    assert process.wait(30) == 129
    about = last_run()
    assert about["status"] == "interrupted" and "SIGHUP" in about["status_reason"], about
    assert healthy() and run_folders() == []


def database_intervals():
    try:
        return rows("SELECT count(*) AS n FROM intervals")[0]["n"]
    except Exception:  # the database is not there yet
        return 0


main()
