#!/usr/bin/env python3
"""How often kvfall compare tells equal runs apart, and that it finds what is slower: the bench compare, cheaply."""
import os
import re
import sys

from tap import SOURCE, case, home, main, run

sys.path.insert(0, os.path.join(str(SOURCE), "tests/bench"))
import compare  # noqa: E402


def kvfall(arguments):
    got = run(arguments)
    assert got.rc == 0, got
    return got.stdout


def folder():
    return str((home() / "work").resolve())


@case("equal simulated runs are told apart in at most 1 of 20 pairs, by every listed measure")
def _():
    found = compare.alarms(kvfall, compare.SIMULATED["closed loop"], folder(), 20)
    told = {name: of for name, (_, of) in found.items()}
    for name in ("throughput_tok_s", "ttft_p50_ms", "ttft_p95_ms", "e2e_p95_ms", "hit_ratio", "nvme_write_p95_ms",
                 "storage_io_p95_ms", "nvme_read_device_p95_ms", "total_read_bytes"):
        assert told[name] == 20, told
    loud = {name: alarms for name, alarms in found.items() if alarms[0] > compare.ALARMS_MOST * 20}
    assert not loud, loud


@case("a tier that is 10 % slower is found in every one of ten pairs")
def _():
    assert compare.slower_found(kvfall, compare.SIMULATED["closed loop"], folder(), 10) == 10


@case("runs of other users are not told apart, nor held to a limit")
def _():
    drawn = compare.changed(compare.ALIKE, workload={"users": 8})
    found = compare.alarms(kvfall, drawn, folder(), 5)
    assert all(of == 0 for name, (_, of) in found.items() if not name.startswith("requests_")), found
    pairs = compare.Pairs(kvfall, drawn, folder())
    a, b = pairs.run(1), pairs.run(2)
    got = run(["compare", str(a), str(b), "--db", pairs.db, "--fail-over", "0%"])
    said = " ".join(got.stdout.split())
    assert got.rc == 0 and "is not held to its limit: their seeds drew different users" in said, got
    check = said[said.rindex("Check passed"):]
    left, missed = check.split("; not held: ")[1], re.findall(r"(\w+) of run \d+ is not held", said)
    assert missed and all(name in left and name not in check.split("; not held: ")[0] for name in missed), check


main()
