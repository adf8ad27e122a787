#!/usr/bin/env python3
"""Lets runs go on for long and looks at what they take: soak.py [--time S].

A run without a screen and one on a terminal, real tiers, the exporter of metrics scraped, readers of the database beside
them. Ten intervals a second fill in minutes what the screen keeps of them. After the first sixth of the time, in which that
happens, resident memory and descriptors are noted; the means of the last third must not be above those of the first but for
a fiftieth, and 1 MiB. Meant to be called by make soak, which sets what it needs from the environment."""
import argparse
import pathlib
import signal
import statistics
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kills import terminal
from rig import Broken, Place, require, say

STEPS = 600  # how often is looked, whatever the time
LOAD = {"run.max_requests": None, "run.interval": "100ms", "workload.users": 6, "tiers.nvme.capacity": "16MiB",
        "workload.personas": [{"name": "brief", "context": [32, 256], "generate": [20, 60], "think": ["100ms", "200ms"]}]}


def resident(pid):
    for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise Broken("a run has ended before its time")


def descriptors(pid):
    return len(list(pathlib.Path("/proc/%d/fd" % pid).iterdir()))


def scrape(address):
    with urllib.request.urlopen("http://%s/metrics" % address, timeout=30) as got:
        require(got.status == 200 and b"kvfall_" in got.read(), "the exporter says nothing")


def thirds(values):
    """Means of the first and the last third."""
    third = max(len(values) // 3, 1)
    return statistics.mean(values[:third]), statistics.mean(values[-third:])


def judge(name, memory, opened):
    """A line about one run; broken when it grows."""
    (first, last), (few, many) = thirds(memory), thirds(opened)
    line = "%-8s resident %.2f MiB in the first third, %.2f MiB in the last; %.1f and %.1f descriptors" % (
        name, first / 2**20, last / 2**20, few, many)
    require(last <= first * 1.02 + 2**20, "memory grows", line)
    require(many <= few + 0.5, "descriptors grow", line)
    return line


def soak(seconds):
    """Lines of what was seen."""
    address = "127.0.0.1:19477"
    with Place(in_memory=False) as place, terminal(True) as (how, _):
        place.scenario({**LOAD, "run.duration": "%dms" % (1000 * (seconds + 600))})
        log = open(place.data / "stderr", "wb")
        runs = {"headless": place.start(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet", "--metrics", address],
                                        stdout=log, stderr=log),
                "screen": place.start(["run", "tiny.yaml", "--db", place.db], {"TERM": "xterm-256color"},
                                      stderr=log, **how)}
        seen = {name: ([], []) for name in runs}
        end = time.monotonic() + seconds
        time.sleep(seconds / 6)  # the preparation, and what is allocated once
        while time.monotonic() < end:
            for name, process in runs.items():
                require(process.poll() is None, "%s has ended before its time" % name)
                seen[name][0].append(resident(process.pid))
                seen[name][1].append(descriptors(process.pid))
            scrape(address)
            if len(seen["screen"][0]) % 10 == 0:
                got = place.run(["show", "--db", place.db])
                require(got[0] == 0, "a reader fails", *got)
            time.sleep(max(seconds / STEPS, 0.2))
        for process in runs.values():
            process.send_signal(signal.SIGTERM)
        for name, process in runs.items():
            status = process.wait(60)
            require(status == 143, "%s ends with %d" % (name, status))
        place.healthy()
        place.others_untouched()
        require(not place.left(), "directories are left", place.left())
        for run, count, top in place.rows("SELECT run_id, count(*), max(seq) FROM intervals GROUP BY 1"):
            require(count == top + 1 and count > 5 * seconds, "intervals are missing", run, count, top)
        log.close()
        return [judge(name, *values) for name, values in seen.items()]


def main():
    words = __doc__.split("\n", 1)
    parser = argparse.ArgumentParser(prog="soak.py", description=words[0], epilog=words[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=3600, help="seconds (3600)")
    options = parser.parse_args()
    try:
        for line in soak(options.time):
            print("soak, %d s: %s" % (options.time, line), flush=True)
    except Broken as e:
        say("\n".join(str(arg) for arg in e.args))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
