#!/usr/bin/env python3
"""A device that hangs, played by a library between the program and the kernel: it is said, and a run whose device hangs
at its end has failed. And what ends a run at once."""
import json
import signal

from runs import last_run, played_disk, rows, run_folders, start
from tap import case, finish, home, main, wait_until

LONG = {"run.duration": "60s", "tiers.gpu": None, "tiers.cpu": None}


def told(path, *words):
    return [line for line in path.read_text(errors="replace").splitlines() if all(word in line for word in words)]


def begin(*options, **changes):
    """A run, and the file that its progress goes to."""
    log = home() / "stderr.txt"
    with open(log, "w") as file:
        process = start({**LONG, **changes}, "--json", "out.json", *options, env=played_disk(PLAYED_HANG=home() / "hang"), stderr=file)
    wait_until(lambda: len(told(log, " measured ")) >= 2, what="progress")
    return process, log


def hang():
    (home() / "hang").touch()


def summary():
    return json.loads((home() / "work/out.json").read_text())


@case("a device that hangs is an event, a line, a column; when it goes on that is said too, and the run completes")
def _():
    process, log = begin()
    hang()
    wait_until(lambda: told(log, "the device of the nvme tier hangs: nothing has come back for"), what="the sentence")
    wait_until(lambda: told(log, "nvme HUNG", " measured "), what="the mark in the progress")
    (home() / "hang").unlink()
    wait_until(lambda: told(log, "the device of the nvme tier goes on after"), what="the end of it")
    process.send_signal(signal.SIGINT)
    got = finish(process)
    assert got.rc == 130 and got.stdout.startswith("INTERRUPTED"), (got, log.read_text())
    events = [(event["level"], event["message"]) for event in summary()["events"]]
    assert any(level == "warning" and "nvme tier hangs" in text for level, text in events), events
    assert any(level == "info" and "nvme tier goes on after" in text for level, text in events), events
    worst, none = rows("SELECT max(hung_s) AS worst, min(hung_s) AS none FROM tier_intervals WHERE tier = 'nvme'")[0].values()
    assert worst >= 5 and none == 0, (worst, none)
    assert run_folders() == []


@case("the first SIGINT says what the end waits for; a run whose device hangs at its end has failed")
def _():
    process, log = begin()
    hang()
    wait_until(lambda: told(log, "nvme tier hangs"), what="the sentence")
    process.send_signal(signal.SIGINT)
    line = wait_until(lambda: told(log, "stopping: waits for the operations under way"), what="what it waits for")[0]
    assert "nvme " in line and "Ctrl-\\ ends at once" in line, line
    assert process.poll() is None
    (home() / "hang").unlink()
    got = finish(process)
    about = last_run()
    assert got.rc == 1 and got.stdout.startswith("FAILED") and about["status"] == "failed", (got, about)
    assert "when the run ended, the device of the nvme tier hangs" in about["status_reason"], about
    assert run_folders() == []


@case("a device that does not come back: the run is given up as failed, with its results, and ends")
def _():
    process, log = begin()
    hang()
    wait_until(lambda: told(log, "nvme tier hangs"), what="the sentence")
    process.send_signal(signal.SIGTERM)
    got = finish(process)
    about = last_run()
    assert got.rc == 1 and got.stdout.startswith("FAILED") and about["status"] == "failed", (got, log.read_text())
    assert "nvme tier hangs" in about["status_reason"], about
    assert rows("SELECT count(*) AS n FROM results")[0]["n"] > 100
    (home() / "hang").unlink()
    assert len(run_folders()) == 1  # the next start removes it
    got = finish(start({"run.max_requests": 5}))
    assert got.rc == 0 and run_folders() == [], got


@case("Ctrl-\\ ends a run at once and leaves no files; so does a second SIGINT")
def _():
    def ends(after, status):
        """Removing files has two seconds; on a machine that stands still meanwhile, the next start removes them."""
        for last in (False, False, True):
            process, log = begin()
            got = after(process, log)
            assert got.rc == status and got.stdout == "", (got, log.read_text())
            if run_folders() == []:
                return
            assert not last, (run_folders(), log.read_text())

    def quit_once(process, _):
        process.send_signal(signal.SIGQUIT)
        return finish(process)

    def interrupt_twice(process, log):
        hang()
        wait_until(lambda: told(log, "nvme tier hangs"), what="the sentence")
        process.send_signal(signal.SIGINT)
        wait_until(lambda: told(log, "stopping: "), what="the first one's line")
        again = lambda: process.send_signal(signal.SIGINT) or process.poll() is not None
        wait_until(again, what="the end, asked for after the time in which a second signal is an echo of the first")
        (home() / "hang").unlink()
        return finish(process)

    ends(quit_once, -signal.SIGQUIT)
    ends(interrupt_twice, 130)


main()
