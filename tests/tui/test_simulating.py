#!/usr/bin/env python3
"""A simulated run in a real terminal: both clocks, its speed, pause and the end."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from reports import case
from runs import last_run, rows
from screens import begin, clock, hold, interrupted, leave, same_modes, stored_event
from tap import main, wait_until
from tmux import Terminal

ENDLESS = {"mode": "simulate", "run.duration": "9000h", "run.interval": "1s", "workload.arrival": {
    "process": "poisson", "rate": 2}}
HEADER = re.compile(r"simulate (max )?x(\S+) real (\d+:\d\d)")


def header(t):
    """Whether it goes as fast as it can, its speed, and the real time."""
    found = HEADER.search(t.title())
    assert found, t.screen()
    return bool(found.group(1)), found.group(2), found.group(3)


def goes_at(t, free, speed=None):
    wait_until(lambda: header(t)[0] == free and speed in (None, header(t)[1]), what="x%s in the header" % speed)


@case("the header has both clocks and the speed; < halves it, > doubles it, f takes every brake off")
def _():
    with Terminal(24, 120) as t:
        before = t.modes()
        begin(t, ENDLESS, "--speed", "8")
        goes_at(t, False, "8")
        t.keys(">")
        t.wait_for("speed 16 times real time")
        goes_at(t, False, "16")
        stored_event("speed 16 x real time by key")
        t.keys("<")
        t.keys("<")
        goes_at(t, False, "4")
        t.keys("f")
        goes_at(t, True)
        stored_event("speed as fast as possible by key")
        t.keys(">")
        t.wait_for("already runs as fast as it can")
        t.keys("<")
        goes_at(t, False)
        assert leave(t) == 0
        same_modes(t, before)
        interrupted(t, "key")
        assert last_run()["mode"] == "simulate"


@case("space pauses a simulation: neither clock goes on")
def _():
    with Terminal(24, 120) as t:
        begin(t, ENDLESS, "--speed", "20")
        t.keys("Space")
        t.wait_for("PAUSED")
        seen = clock(t), header(t)
        hold(1.5)
        assert "PAUSED" in t.title() and (clock(t), header(t)) == seen, t.screen()
        t.keys("Space")
        t.wait_for("RUNNING")
        wait_until(lambda: clock(t) > seen[0] + 2, what="run time that goes on")
        assert leave(t) == 0
        interrupted(t, "key")


@case("writes that find no room have a mark on the screen while the run goes on, and in what is left of it")
def _():
    with Terminal(30, 120) as t:
        begin(t, {**ENDLESS, "run.interval": "10s", "tiers": {"nvme": {"capacity": "24MiB", "io_size": "64KiB",
                  "read_bandwidth": "2MB/s", "write_bandwidth": "1MB/s"}}, "engine": {"slots": 64, "room_wait": "100ms"},
                  "workload.arrival": {"process": "closed"}, "workload.users": 64, "workload.prefix": {"probability": 0},
                  "workload.personas": [{"name": "large", "context": [500, 3000], "generate": [50, 150],
                                         "think": ["0s", "1s"]}]}, "--speed", "200")
        t.wait_for(re.compile(r"! no room: \d+ writes fell through to a lower tier, [1-9]\d* were refused"))
        assert leave(t) == 0
    told = [row["message"] for row in rows("SELECT message FROM verdict_warnings ORDER BY n")]
    assert any(" writes were refused, larger than every tier or without room in time" in one for one in told), told


@case("a real run says that it has no speed")
def _():
    with Terminal(24, 120) as t:
        begin(t)
        t.keys(">")
        t.wait_for("only a simulation has a speed")
        assert not HEADER.search(t.title()), t.title()
        assert leave(t) == 0


main()
