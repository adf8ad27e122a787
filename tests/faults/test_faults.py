#!/usr/bin/env python3
"""The campaign in short: some of what `make faults` does at length, told as tests."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import inject
import kills
from rig import LIBRARY, Clock, Findings
from tap import Skip, case, main

SEED = 1


def nothing_found(findings):
    assert not len(findings), "\n".join("%d x %s\n%s\n%s" % (times, kind, again, details)
                                        for kind, (times, again, details) in findings.kinds.items())


def preloaded():
    if not LIBRARY.exists():
        raise Skip("%s is not built" % LIBRARY)


for _jobs, _what in ((("real", "arena"), "a run with tiers"), (("simulate",), "a simulation"),
                     (("history", "report", "export-csv", "merge", "tag"), "commands of the database")):
    def calls_fail(jobs=_jobs):
        preloaded()
        findings = Findings()
        done, _ = inject.campaign(findings, Clock(4), SEED, jobs, inject.GROUPS[1:])
        more, _ = inject.campaign(findings, Clock(3), SEED, jobs, ("malloc",))
        assert done and more, (done, more)
        nothing_found(findings)

    case("%s under which calls fail: status, sentence, database and directories are as they should be" % _what)(calls_fail)


for _kinds, _what in ((("real", "arena", "end", "simulate"), "a run"), (("sweep", "sweep-real", "trials", "suite"), "many runs"),
                      (("calibrate", "live"), "a calibration, and a run on a screen")):
    def killed(kinds=_kinds):
        findings = Findings()
        for kind in kinds:
            kills.campaign(findings, Clock(60), SEED, [kind], most=1)
        nothing_found(findings)

    case("%s killed at any moment: the database is whole, the next start puts the rest right" % _what)(killed)


main()
