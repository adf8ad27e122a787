#!/usr/bin/env python3
"""The campaign in short: some of what `make faults` does at length, told as tests."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cuts
import harm
import inject
import kills
import limits
from rig import LIBRARY, Clock, Findings
from tap import Skip, case, main, run

SEED = 1
CALLS = 4  # of each kind; not a time, so that the test is the same on every machine. Some take seconds


def nothing_found(findings):
    assert not len(findings), "\n".join("%d x %s\n%s\n%s" % (times, kind, again, details)
                                        for kind, (times, again, details) in findings.kinds.items())


def unsanitized():
    """A sanitizer has its own memory, and wants to be loaded first."""
    if not any(line.split() == ["sanitizer", "off:", "not", "asked", "for"] for line in run(["--version"]).stdout.splitlines()):
        raise Skip("this program is built with a sanitizer")


def preloaded():
    if not LIBRARY.exists():
        raise Skip("%s is not built" % LIBRARY)
    unsanitized()


for _jobs, _what in ((("real", "arena"), "a run with tiers"), (("simulate",), "a simulation"),
                     (("history", "report", "export-csv", "merge", "tag"), "commands of the database")):
    def calls_fail(jobs=_jobs):
        preloaded()
        findings = Findings()
        done, _ = inject.campaign(findings, Clock(0), SEED, jobs, inject.GROUPS[1:], most=CALLS)
        more, _ = inject.campaign(findings, Clock(0), SEED, jobs, ("malloc",), most=CALLS)
        assert done and more, (done, more)
        nothing_found(findings)

    case("%s under which calls fail: status, sentence, database and directories are as they should be" % _what)(calls_fail)


@case("a thread that cannot be started, each of a run: a sentence, and the row of the run says that it failed")
def _():
    preloaded()
    findings = Findings()
    done, there = inject.campaign(findings, Clock(0), SEED, ("real",), ("thread",), every=True)
    assert done, there
    nothing_found(findings)


for _kinds, _what in ((("real", "arena", "end", "simulate"), "a run"), (("sweep", "sweep-real", "trials", "suite"), "many runs"),
                      (("calibrate", "live"), "a calibration, and a run on a screen")):
    def killed(kinds=_kinds):
        findings = Findings()
        for kind in kinds:
            kills.campaign(findings, Clock(60), SEED, [kind], most=1)
        nothing_found(findings)

    case("%s killed at any moment: the database is whole, the next start puts the rest right" % _what)(killed)



def once(campaign, **how):
    """One of each; a kind that cannot be tried here skips the case when nothing else was."""
    findings = Findings()
    seen = campaign(findings, Clock(60), SEED, **how)
    nothing_found(findings)
    if not seen and findings.skipped:
        raise Skip("; ".join("%s: %s" % one for one in findings.skipped.items()))


@case("a power cut takes no run that had ended, and leaves no directory unnamed")
def _():
    once(cuts.campaign, most=2)


for _kind in harm.KINDS:
    case("%s under a run: counted, named, the database whole" % _kind)(
        lambda kind=_kind: once(harm.campaign, kinds=[kind], most=1))


@case("too little memory, of the address space and of a control group: a sentence, nothing lost")
def _():
    unsanitized()
    once(limits.campaign, most=4)


main()
