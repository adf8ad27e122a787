#!/usr/bin/env python3
"""Studies of several runs in a real terminal: their table, the run that goes on, and the ways out."""
import os
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from reports import case
from runs import TINY, rows, run_folders, write
from screens import process_state, same_modes
from tap import SOURCE, home, main, wait_until
from tmux import Terminal

# Points that end by themselves at once, and points that never do.
SHORT = {"mode": "simulate", "run.duration": "40s", "run.interval": "1s"}
ENDLESS = {**SHORT, "run.duration": "9000h"}
USERS = {"keys": {"workload.users": [2, 4, 8]}}


def sweep(t, scenario, *options, before=""):
    write({**scenario, "sweep": USERS})
    t.start("sweep", "small.yaml", *options, before=before)


def stored():
    return rows("SELECT status, status_reason, done FROM sweeps ORDER BY sweep_id DESC LIMIT 1")[0]


@case("a sweep fills its table, says the best, and stays until a key; then its results are printed")
def _():
    with Terminal(30, 100) as t:
        before = t.modes()
        sweep(t, SHORT)
        t.wait_for("COMPLETED")
        screen = t.screen()
        assert re.search(r"^ +\*? +1 users 2 +done +\S+ tok/s", screen, re.MULTILINE), screen
        assert "3/3" in t.title() and re.search(r"^ Best +\S+ tok/s at users [248]", screen, re.MULTILINE), screen
        assert "over users" in screen, screen
        assert not t.ended()
        t.keys("q")
        assert t.status() == 0
        assert "Sweep 1: 3 of 3 points done." in t.all(), t.all()
        same_modes(t, before)
    assert stored()["status"] == "completed" and stored()["done"] == 3


@case("Enter opens the run that goes on, with its views; Esc comes back to the table; q asks there")
def _():
    with Terminal(30, 100) as t:
        sweep(t, ENDLESS, "--jobs", "1")
        t.wait_for("0/3")
        t.wait_for(re.compile(r"^ +1 users 2 +[█▏▎▍▌▋▊▉·]+ *$", re.MULTILINE))
        t.keys("Enter")
        t.wait_for("Class (10 s)")
        t.keys("2")
        t.wait_for("demoted/s")
        t.keys("+")
        t.wait_for("it can be watched, not changed")
        t.keys("?")
        t.wait_for("shift-Tab")
        t.keys("Escape")
        t.wait_for("demoted/s")
        t.keys("Escape")
        t.wait_for("users 4")
        t.keys("Enter")
        t.wait_for("demoted/s")  # where it was left
        t.keys("q")
        t.wait_for("Stop the sweep and keep its results? y/n")
        t.keys("n")
        t.wait_gone("y/n")
        assert "RUNNING" in t.title()
        t.keys("q")
        t.wait_for("y/n")
        t.keys("y")
        assert t.status() == 0
        assert "Sweep 1: 0 of 3 points done, stopped." in t.all(), t.all()
    assert stored()["status"] == "interrupted"
    assert rows("SELECT status FROM runs") == [{"status": "interrupted"}] and run_folders() == []


@case("a plan has a row for each simulation with its cost and verdict, the front as its curve, and the answer's sentence at the end")
def _():
    with Terminal(40, 170) as t:
        t.start("plan", str(SOURCE / "configs/plan/chat-8b.yaml"), "--users", "60", "--set", "run.duration=60s", "--set", "run.warmup=5s")
        t.wait_for("COMPLETED")
        screen = t.screen()
        assert t.title().split()[1] == "plan", t.title()
        answer = re.search(r"^ (.+) carr(?:y|ies) 60 users within every P95 target at \S+ USD a million tokens", screen, re.MULTILINE)
        assert answer and re.search(r" (\d+)/\1 +COMPLETED", screen), screen
        machine = re.sub(" with | and ", ", ", answer[1])
        lines = re.findall(r"^ +\d+ (.+?) +done +(\S+ m?s) +(\S+) USD +\S+ tok/s (meets every P95 target|misses \w+ by \S+ %)$", screen, re.MULTILINE)
        assert len(lines) > 5 and all(line[3].startswith("meets") for line in lines if line[0] == machine + ", in full"), screen
        within = [float(cost) for name, _, cost, verdict in lines if verdict.startswith("meets") and not name.endswith("in full")]
        assert min(within) == next(float(cost) for name, _, cost, _ in lines if name == machine), screen
        assert "TTFT P95 over cost of an hour, of machines on the front" in screen, screen
        t.keys("q")
        assert t.status() == 0
        assert re.search(r"^FOUND +" + re.escape(answer[1].split(",")[0]), t.all(), re.MULTILINE), t.all()


@case("trials have a row each, a curve over their number and the mean at the end; then the summary comes")
def _():
    with Terminal(30, 100) as t:
        before = t.modes()
        write({**SHORT, "run.trials": 3})
        t.start("run", "small.yaml")
        t.wait_for("COMPLETED")
        screen = t.screen()
        assert "3/3" in t.title() and "trials" in t.title(), screen
        assert re.search(r"^ mean \S+ tok/s of 3 trials, coefficient of variation \S+ %", screen, re.MULTILINE), screen
        for n in (1, 2, 3):
            assert re.search(r"^ +%d trial %d done +\S+ tok/s" % (n, n), screen, re.MULTILINE), screen
        assert "tokens/s over trial" in screen, screen
        t.keys("q")
        assert t.status() == 0
        assert re.search(r"^Trials +3 of 3 run, 3 complete", t.all(), re.MULTILINE), t.all()
        assert t.all().index("Bottleneck:") < t.all().index("Trials "), t.all()
        same_modes(t, before)


@case("Enter opens the trial that goes on; stopped by q, the others do not run")
def _():
    with Terminal(30, 100) as t:
        write({**ENDLESS, "run.trials": 3})
        t.start("run", "small.yaml")
        t.wait_for(re.compile(r"^ +1 trial 1 +[█▏▎▍▌▋▊▉·]+ *$", re.MULTILINE))
        assert re.search(r"^ +3 trial 3 waiting", t.screen(), re.MULTILINE), t.screen()
        t.keys("Enter")
        t.wait_for("Class (10 s)")
        t.keys("Escape")
        t.wait_for("trial 2")
        t.keys("q")
        t.wait_for("Stop the trials and keep its results? y/n")
        t.keys("y")
        assert t.status() == 0
        assert re.search(r"^Trials +1 of 3 run, 0 complete", t.all(), re.MULTILINE), t.all()
    assert rows("SELECT status FROM runs") == [{"status": "interrupted"}]


@case("a suite fills its table with bars to compare by; Enter opens the test that goes on; then its table comes")
def _():
    with Terminal(30, 130) as t:
        before = t.modes()
        t.start("suite", "gpu-only", "cpu-only", "gpu-cpu", *TINY, "--set", "run.interval=100ms", "--duration", "9m",
                "--duration", "gpu-only=300ms")
        t.wait_for(re.compile(r"^ \*? +1 gpu-only done +\S+ tok/s .* █+ *$", re.MULTILINE))
        t.wait_for(re.compile(r"^ +2 cpu-only +[█▏▎▍▌▋▊▉·]+ *$", re.MULTILINE))
        screen = t.screen()
        assert re.search(r"^ Best so far +\S+ tok/s at gpu-only", screen, re.MULTILINE), screen
        assert re.search(r"^ +3 gpu-cpu +waiting", screen, re.MULTILINE) and "1/3" in t.title(), screen
        t.keys("Enter")
        t.wait_for("cpu-only")
        t.wait_for("Class (10 s)")
        t.keys("Escape")
        t.wait_for("gpu-cpu")
        t.keys("q")
        t.wait_for("Stop the suite and keep its results? y/n")
        t.keys("y")
        assert t.status() == 0
        same_modes(t, before)
        assert re.search(r"^gpu-only .* (met|miss|--)", t.all(), re.MULTILINE), t.all()
    assert rows("SELECT name, status FROM runs ORDER BY run_id") == [
        {"name": "gpu-only", "status": "completed"}, {"name": "cpu-only", "status": "interrupted"}]


@case("a calibration has a row a tier, then one for each depth, and a curve; Enter opens nothing; its keys come after it")
def _():
    with Terminal(30, 100) as t:
        before = t.modes()
        t.start("probe", "--calibrate", "--size", "16MiB", "--time", "300ms", "-o", "peaks.yaml")
        t.wait_for(re.compile("calibration.*COMPLETED"))
        screen = t.screen()
        assert re.search(r"^ +\d nvme, 1 under way +done +\S+ GiB/s +\S+ GiB/s +[\d.]+ [nu]s", screen, re.MULTILINE), screen
        assert "goes to peaks.yaml" in screen and "reads over operations under way" in screen, screen
        t.keys("q")
        assert t.status() == 0
        same_modes(t, before)
    assert "peak_read:" in (home() / "work/peaks.yaml").read_text()


@case("a calibration is stopped by q after a question: nothing is written, nothing left behind")
def _():
    with Terminal(30, 100) as t:
        t.start("probe", "--calibrate", "--size", "16MiB", "--time", "1h", "-o", "peaks.yaml")
        t.wait_for(re.compile(r"^ +1 cpu .*(filling|round 1 of) the cpu tier", re.MULTILINE))
        assert "Enter" not in t.screen()
        t.keys("Enter", "q")
        t.wait_for("Stop the calibration? A partial result is not kept. y/n")
        t.keys("y")
        assert t.status() == 1
        assert "stopped while the cpu tier was measured" in t.all(), t.all()
    assert not (home() / "work/peaks.yaml").exists() and run_folders() == []


@case("SIGINT ends a sweep in good order, exit status 130, with the terminal as it was")
def _():
    with Terminal(30, 100) as t:
        before = t.modes()
        sweep(t, ENDLESS)
        t.wait_for("0/3")
        (pid,) = t.children()
        os.kill(pid, signal.SIGINT)
        assert t.status() == 130
        same_modes(t, before)
    assert stored()["status"] == "interrupted"


@case("Ctrl-Z stops a sweep with its points and gives the terminal back; fg goes on; sizes change meanwhile")
def _():
    with Terminal(30, 100) as t:
        before = t.modes()
        sweep(t, ENDLESS, "--jobs", "1")
        t.wait_for(re.compile(r"^ +1 users 2 +[█▏▎▍▌▋▊▉·]+ *$", re.MULTILINE))
        t.keys("C-z")
        t.status()
        (pid,) = t.children()
        point = int(pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()[0])
        wait_until(lambda: process_state(pid) == "T" and process_state(point) == "T", what="both stand still")
        t.resize(10, 40)
        t.foreground()
        lines = t.wait_size(10, 40, "q stop")
        assert "0/3 RUNNING" in lines[0], lines
        wait_until(lambda: process_state(point) != "T", what="the point goes on")
        t.resize(60, 200)
        t.wait_size(60, 200, "q stop")
        t.resize(8, 30)
        t.wait_for("40x10 needed")
        t.resize(24, 80)
        t.wait_size(24, 80, "q stop")
        t.keys("q", "y")
        assert t.status() == 0
        same_modes(t, before)


@case("--headless has no screen but lines with percentage and time left; so has a terminal that can show none")
def _():
    for options, before in ((["--headless"], ""), ([], "TERM=dumb ")):
        with Terminal(30, 100) as t:
            sweep(t, SHORT, *options, before=before)
            assert t.status() == 0
            assert re.search(r"3/3.*  100 %  ETA 00:00", t.all()), t.all()


@case("without colours and outside UTF-8 the table says the same")
def _():
    for before in ("NO_COLOR=1 ", "LC_ALL=C "):
        with Terminal(30, 100) as t:
            sweep(t, SHORT, before=before)
            screen = t.wait_for("COMPLETED")
            assert re.search(r"^ +\*? +3 users 8 +done +\S+ tok/s", screen, re.MULTILINE), screen
            if "LC_ALL" in before:
                assert screen.isascii(), screen
            else:
                assert not re.search(r"\x1b\[[0-9;]*3[0-8]", t.coloured())
            t.keys("q")
            assert t.status() == 0


main()
