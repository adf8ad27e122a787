#!/usr/bin/env python3
"""What a signal leaves of a command that writes a file: the end of the process by that signal, and nothing half-written."""
import resource
import signal

import runs
from histories import add_run, insert, make
from tap import case, database, finish, home, main, spawn, wait_until

NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def writers(path):
    """Command lines that write to a path, by a name."""
    with make() as db:
        for value in (100, 101):
            run_id = add_run(db, results={"throughput_tok_s": value})
            insert(db, "intervals", run_id=run_id, seq=0, t_s=1.0, length_s=1.0, phase="measured")
    small = runs.write({"run.max_requests": 5})
    sweep = runs.write({"sweep.keys": {"workload.users": [1]}, "mode": "simulate", "tiers.nvme": None}, name="sweep.yaml")
    return {"run": ["run", "--headless", small, "--json", path], "sweep": ["sweep", sweep, "--json", path],
            "suite": ["suite", "--plan", "--json", path], "report": ["report", "1", "2", "-o", path],
            "export": ["export", "1", "--format", "json", "-o", path], "compare": ["compare", "1", "2", "-o", path],
            "junit": ["compare", "1", "2", "--fail-over", "5%", "--junit", path], "watch": ["watch", "1", "--dump", "-o", path],
            "calibrate": ["probe", "--calibrate", small, "--path", ".", "--size", "16MiB", "--time", "100ms", "-o", path]}


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def written():
    return sorted(path.name for path in (home() / "work").glob("output*"))


@case("a command that is told to end while it writes a file ends by that signal, and the file is the old one")
def _():
    path = home() / "work/output"
    env = runs.played_disk(PLAYED_SYNC=path)
    for name, args in writers(path).items():
        # a calibration fills a GiB of memory each time
        ways = list(zip(NUMBERS, ("", "old", "", "old")))
        for number, old in ways[1:2] if name == "calibrate" else ways:
            if old:
                path.write_text(old)
                args = [*args, "--overwrite"]
            process = spawn(args, env=env, preexec_fn=no_core)
            wait_until(lambda: [left for left in written() if left != "output"], 200, "the file of %s" % name)
            process.send_signal(number)
            got = finish(process)
            assert got.rc == -number, (name, number, got)
            assert written() == (["output"] if old else []), (name, number, written(), got)
            assert not old or path.read_text() == old, (name, number)
            if old:
                path.unlink()
    assert runs.healthy() and database().exists()


@case("a signal that was ignored at the start stays ignored while a file is written")
def _():
    def nohup():
        no_core()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    path = home() / "work/output"
    process = spawn(writers(path)["export"], env=runs.played_disk(PLAYED_SYNC=path), preexec_fn=nohup)
    wait_until(written, 200, "the file")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert finish(process).rc == -signal.SIGTERM and written() == []


main()
