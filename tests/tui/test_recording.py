#!/usr/bin/env python3
"""The screen of a recording in a real terminal: figures by pod while it goes on, and the ways out."""
import json
import os
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from played_events import BLOCK, Engine
from reports import case
from screens import same_modes
from tap import home, main, wait_until
from tmux import Terminal

OUT = "tuesday.jsonl"


def record(t, engines, *options, before=""):
    t.start("record", "-o", OUT, "--overwrite", *options, *[word for engine in engines for word in ("--events", engine.address)],
            before=before)
    for engine in engines:
        wait_until(engine.subscribed, what="a subscription")


def serve(engine, requests, lost=()):
    for number in range(requests):
        engine.serve(1.7e9 + number, [7] * BLOCK + [number] * BLOCK, heard=number not in lost, kept=False)


def end(t, number):
    for pid in t.children():
        os.kill(pid, number)


def row(name, seen, lost, requests):
    """A line of the table: rates are as they are."""
    return re.compile(r"^ *%s +\S+ +\S+ +%s +%d +%d\b" % (re.escape(name), seen, lost, requests), re.MULTILINE)


@case("requests, tokens, reuse and gaps by pod; q asks, and what is recorded is kept")
def _():
    engines = [Engine(10 ** 6, BLOCK), Engine(10 ** 6, BLOCK)]
    try:
        with Terminal(24, 80) as t:
            before = t.modes()
            record(t, engines)
            t.wait_for("recording")
            serve(engines[0], 5, lost=(2,))
            serve(engines[1], 3)
            first, second = (engine.address for engine in engines)
            # 14 blocks, of which 6 are different ones: pods share what has the same tokens
            t.wait_for(row("all", "57.1 %", 1, 7))
            screen = t.screen()
            assert re.search(r"requests/s +tok/s +seen before +lost +requests", screen), screen
            assert row(first, r"\S+ %", 1, 4).search(screen) and row(second, r"\S+ %", 0, 3).search(screen), screen
            assert "the recording has gaps" in screen and "RUNNING" in t.title() and OUT in t.title(), screen
            t.keys("q")
            t.wait_for("Stop the recording and keep its results? y/n")
            t.keys("y")
            assert t.status() == 0
            assert "7 requests" in t.all() and "Lost batches: 1" in t.all(), t.all()
            same_modes(t, before)
    finally:
        for engine in engines:
            engine.close()
    assert len((home() / "work" / OUT).read_text().splitlines()) == 7


@case("40 columns and 10 rows in ASCII without colours; a signal ends it in good order")
def _():
    engine = Engine(10 ** 6, BLOCK)
    try:
        with Terminal(10, 40) as t:
            before = t.modes()
            record(t, [engine], "--ascii", before="NO_COLOR=1 ")
            serve(engine, 4)
            t.wait_for("no gaps")
            wait_until(lambda: (home() / "work" / OUT).read_text().count("\n") == 4, what="four rows")
            t.wait_for("requests/s")
            assert t.screen().isascii() and all(len(line) <= 40 for line in t.screen().splitlines()), t.screen()
            end(t, signal.SIGTERM)
            assert t.status() == 143
            assert "4 requests" in t.all(), t.all()
            same_modes(t, before)
    finally:
        engine.close()
    assert [len(json.loads(line)["hash_ids"]) for line in (home() / "work" / OUT).read_text().splitlines()] == [2] * 4


@case("--headless has the line alone")
def _():
    engine = Engine(10 ** 6, BLOCK)
    try:
        with Terminal(24, 100) as t:
            record(t, [engine], "--headless")
            serve(engine, 4)
            t.wait_for(re.compile(r"^4 requests, .* tokens in, 0 out, 37.5 % of the blocks seen before \| .* requests/s", re.MULTILINE))
            end(t, signal.SIGINT)
            assert t.status() == 130
    finally:
        engine.close()


for writer in (True, False):
    @case("a followed pipe %s is left by a signal and by q" % ("of a silent writer" if writer else "that nobody writes to"))
    def _(writer=writer):
        log = home() / "work/pipe"
        os.mkfifo(log)
        held = os.open(log, os.O_RDWR) if writer else -1
        try:
            for leave, status in ((lambda t: end(t, signal.SIGINT), 130), (lambda t: t.keys("q"), 0)):
                with Terminal(24, 80) as t:
                    before = t.modes()
                    t.start("record", "--follow", log, "-o", OUT, "--overwrite")
                    t.wait_for("recording")
                    leave(t)
                    if status == 0:
                        t.wait_for("Stop the recording")
                        t.keys("y")
                    assert t.status(20) == status
                    assert "0 requests" in t.all(), t.all()
                    same_modes(t, before)
        finally:
            if held >= 0:
                os.close(held)


class Endless(Engine):
    """Its replay does not end: a batch that was there already comes again and again."""
    asked = False

    def _send(self, socket, *parts):
        while parts[2:3] == (b"\xff" * 8,) and not self.closing.wait(0.05):
            super()._send(socket, parts[0], b"", bytes(8), b"")
            self.asked = True
        super()._send(socket, *parts)


@case("a signal ends it while batches are being replayed, and those that came are kept")
def _():
    engine = Endless(10 ** 6, BLOCK)
    try:
        with Terminal(24, 80) as t:
            t.start("record", "-o", OUT, "--overwrite", "--events", engine.address + "," + engine.replay)
            wait_until(engine.subscribed, what="a subscription")
            engine.serve(1.7e9, [7] * BLOCK, heard=False)
            engine.serve(1.7e9 + 1, [8] * BLOCK)
            wait_until(lambda: engine.asked, what="a replay")
            t.wait_for(row(engine.address, r"\S+ %", 0, 1))  # told of, though the replay goes on
            end(t, signal.SIGINT)
            assert t.status(20) == 130
            assert "2 requests" in t.all() and "Batches that came when asked for again: 1" in t.all(), t.all()
    finally:
        engine.close()


main()
