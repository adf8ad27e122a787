#!/usr/bin/env python3
"""probe --calibrate --run: the figures of a calibration, adjusted to a real run of the scenario that will use them."""
import pathlib
import re
import signal

import runs
from tap import case, finish, home, main, run, spawn, wait_until

CALIBRATE = ["probe", "--calibrate", "--path", ".", "--size", "16MiB", "--time", "300ms"]
ADJUSTED = r"# adjusted to a run: reads take ([\d.e+-]+) and writes ([\d.e+-]+) times as long as windows measured, " \
    r"their spread to the power of ([\d.e+-]+) and ([\d.e+-]+); the peaks are the windows'"


def refused(args, words):
    got = run(args)
    assert (got.rc, got.stdout) == (2, "") and words in got.stderr, got


def left():
    return sorted(path.name for path in (home() / "work").iterdir())


@case("what is written says what it was adjusted to and how near a simulation comes, and loads; the run is in no history")
def _():
    path = runs.write({"run": {"duration": "5s", "warmup": "100ms", "interval": "100ms"}, "tiers.nvme.path": "elsewhere"})
    got = run([*CALIBRATE, "--run", "1s", path, "--output", "m.yaml"])
    assert (got.rc, got.stdout) == (0, ""), got
    shares = [int(n) for n in re.findall(r"; (\d+) % done", got.stderr)]
    assert shares == sorted(shares) and "calibrate: running the scenario;" in got.stderr, got
    assert left() == ["m.yaml", "small.yaml"] and "no runs" in run(["history"]).stdout, (left(), run(["history"]))
    text = (home() / "work/m.yaml").read_text()
    said = re.search(r"^# Adjusted to 1.00 s of the scenario: (\d+) tok/s, end to end ([\d.]+) ms on average and ([\d.]+) ms at P95; "
                     r"simulated with these keys (\d+) tok/s, ([\d.]+) and ([\d.]+) ms\.$", text, re.MULTILINE)
    assert said and all(float(n) > 0 for n in said.groups()), text
    parts = text.split("\n  nvme: #")
    assert all(re.search("^    " + ADJUSTED + "$", part, re.MULTILINE) for part in parts), text
    runs.measure({"include": "m.yaml", "mode": "simulate", "run": {"duration": "1s", "warmup": "100ms"}})


@case("without a file of a scenario there is nothing to run, and a run of no length says nothing")
def _():
    path = str(runs.write())
    refused([*CALIBRATE, "--run", "20s"], "--run needs the file of the scenario that will use the calibration: "
            "kvfall probe --calibrate --run 20s SCENARIO")
    got = run([*CALIBRATE, "--run", "20s", "-"], input="model: tiny-1b\ntiers: {cpu: {capacity: 64MiB}}\n")
    assert got.rc == 2 and "--run needs the file of the scenario" in got.stderr, got
    refused([*CALIBRATE, "--run", "10ms", path], '--run is a duration from 1s to 1h, such as 20s, not "10ms"')
    refused(["probe", "--run", "20s"], "--run belongs to --calibrate")
    assert left() == ["small.yaml"], left()


@case("a run that this machine has no room for is refused before anything is measured, one that fails ends the calibration with "
      "its reason; nothing is written")
def _():
    got = run([*CALIBRATE, "--run", "1s", str(runs.write({"tiers.nvme.capacity": "100TiB"})), "--output", "m.yaml"])
    assert got.rc == 1 and "nvme tier 100 TiB" in got.stderr and "filling" not in got.stderr, got
    path = runs.write({"workload.personas": [{"name": "long", "context": [8, 8], "generate": [8, 8], "think": ["1h", "1h"]}]})
    got = run([*CALIBRATE, "--run", "1s", path, "--output", "m.yaml"])
    assert got.rc == 1 and "the real run of %s did not complete: " % path in got.stderr, got
    assert left() == ["small.yaml"], left()


@case("a signal while the run goes on ends it, and nothing is left behind")
def _():
    for number in (signal.SIGINT, signal.SIGTERM):
        process = spawn([*CALIBRATE, "--run", "1h", str(runs.write()), "--output", "m.yaml"])
        wait_until(lambda: b"running the scenario" in process.stderr.readline(), 60)
        wait_until(lambda: list(pathlib.Path(home() / "work").glob("kvfall-*/**/*")), 60, "files of the run")
        process.send_signal(number)
        got = finish(process)
        assert got.rc == 128 + number and "the scenario was run" in got.stderr, got
        assert left() == ["small.yaml"], left()


main()
