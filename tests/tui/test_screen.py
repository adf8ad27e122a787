#!/usr/bin/env python3
"""`kvfall run` in a real terminal: what it shows, what keys do, and how it leaves."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from reports import case
from runs import last_run, rows, write
from screens import (RUNNING, SMALL, VIEWS, begin, clock, events, hold, interrupted, leave, left_out, same_modes,
                     stored_event)
from tap import home, main, wait_until
from tmux import Terminal


def begin_requests(t):
    """A run with a modelled GPU, on the view of its requests."""
    begin(t, {"compute": {"mode": "realistic"}})
    t.keys("7")
    t.wait_for("generate")


@case("a run in a terminal shows the overview, and q ends it properly after asking once")
def _():
    with Terminal() as t:
        before = t.modes()
        begin(t)
        screen = t.wait_for("LIMITED BY")
        for word in ("kvfall  small", "TRY", "cpu", "nvme", "q quit"):
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


NUMBERS = "1 min tok/s TTFT P95"


@case("numbers and Tab go through the views, each of which is another; ? helps and goes back")
def _():
    with Terminal(30, 100) as t:
        begin(t)
        for key, words in VIEWS.items():
            t.keys(key)
            t.wait_for(words)
            for other in set(VIEWS.values()) - {words}:
                t.wait_gone(other)  # a picture may be caught while it is being drawn
        t.keys("?")
        t.wait_gone(VIEWS["?"])
        t.wait_for(VIEWS["0"])
        t.keys("Tab")
        t.wait_for(NUMBERS)
        t.keys("Tab")
        t.wait_for("The rule")
        t.keys("b")
        t.wait_for(NUMBERS)
        t.keys("1", "n")
        t.wait_for(NUMBERS)
        t.keys("Tab", "Tab")
        t.wait_for(VIEWS["?"])
        for key in "1234567890":
            t.keys("Tab")
            t.wait_for(VIEWS[key])
        for key in "987654321?":
            t.keys("BTab")
            t.wait_for(VIEWS[key])
        t.keys("BTab", "BTab", "BTab")
        t.wait_for(VIEWS["0"])
        assert leave(t) == 0


@case("space pauses: the clock stands still, and the time is in no duration")
def _():
    with Terminal() as t:
        begin(t)
        t.keys("Space")
        t.wait_for("PAUSED")
        hold(1)  # the word may come a picture before the time at which it stopped
        seen = clock(t)
        hold(2)
        assert "PAUSED" in t.title() and clock(t) == seen, t.screen()
        t.keys("Space")
        t.wait_for(RUNNING)
        assert leave(t) == 0
        left_out(3)
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


@case("Enter in a request's detail opens its user with the requests that ended since, Escape goes back")
def _():
    with Terminal() as t:
        begin_requests(t)
        t.keys("Enter")
        t.wait_for("for a slot, then")
        t.keys("Enter")
        t.wait_for(re.compile(r"User \d+, "))
        t.wait_for(re.compile(r"\d+ ms +done|\d s +done"))
        t.keys("Escape")
        t.wait_for("for a slot, then")
        assert leave(t) == 0


@case("/ shows only what contains the text, o sorts by the next column")
def _():
    with Terminal() as t:
        begin_requests(t)
        t.keys("/")
        t.wait_for("Show only:")
        t.type("no such row")
        t.keys("Enter")
        t.wait_for("no request matches the filter")
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
        t.wait_for("LIMITED BY")
        t.keys("s")
        files = wait_until(lambda: list((home() / "work").glob("kvfall-overview-*.txt")), what="the text file")
        text = wait_until(files[0].read_text, what="its text")
        assert text.startswith(" kvfall  small") and "LIMITED BY" in text and "\x1b" not in text, text
        assert max(len(line) for line in text.splitlines()) <= 80 and len(text.splitlines()) == 24, text
        t.keys("p")
        t.wait_for("FROZEN")
        seen, frozen_s = rows("SELECT coalesce(max(seq), 0) AS n FROM intervals")[0]["n"], clock(t)
        wait_until(lambda: rows("SELECT coalesce(max(seq), 0) AS n FROM intervals")[0]["n"] > seen + 10, what="ten intervals more")
        assert "FROZEN" in t.title() and clock(t) == frozen_s, t.screen()
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
        t.wait_for("LIMITED BY")
        assert leave(t) == 0


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
            t.wait_for("LIMITED BY")
            assert not colour.search(t.coloured()), ascii(t.coloured())
            assert leave(t) == 0


@case("LANG=C, no locale and --ascii: nothing beyond ASCII in any view")
def _():
    with Terminal(30, 100) as t:
        for before, options in (("LC_ALL=C ", ()), ("LC_ALL= LC_CTYPE= LANG= ", ()), ("", ("--ascii",))):
            begin(t, None, *options, before=before)
            for key in VIEWS:
                t.keys(key)
                t.wait_for(VIEWS[key])
                assert t.screen().isascii(), t.screen()
            assert leave(t) == 0
        begin(t)
        t.wait_for("LIMITED BY")
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


@case("what --fit scaled is in the log from the first moment")
def _():
    with Terminal() as t:
        write({**SMALL, "tiers.nvme.capacity": "900TiB"})
        t.start("run", "--fit", "small.yaml")
        t.wait_for("RUNNING")
        t.keys("8")
        t.wait_for("before warning  --fit: tiers.nvme.capacity 900 TiB -> ")
        assert leave(t) == 0


@case("--headless in a terminal is headless, and output that is no terminal too")
def _():
    with Terminal() as t:
        write({**SMALL, "run.duration": "500ms"})
        t.start("run", "--headless", "small.yaml")
        assert t.status() == 0 and t.flag("alternate_on") == "0"
        assert "COMPLETED" in t.all(), t.all()
        t.shell("$PROGRAM run small.yaml >out.txt 2>err.txt")
        assert (home() / "work/out.txt").read_text().startswith("COMPLETED")


main()
