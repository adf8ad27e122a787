#!/usr/bin/env python3
"""Looks for what is lost when something goes wrong: campaign.py [--time S] [--seed N] [PART]...

Each part is given its share of the time and does as much as fits; a line says how much that was. What does not hold is
told once, with how to see it again; the exit status is 1 if there was anything. Meant to be called by make faults, which
sets what it needs from the environment."""
import argparse
import os
import pathlib
import resource
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cuts
import harm
import inject
import kills
import limits
from rig import KVFALL, Clock, Findings, say

# What each part is, its share of the time, and what does it: (findings, clock, seed) -> a line of what was done.
PARTS = {}


def part(name, share, title):
    def add(function):
        PARTS[name] = share, title, function
        return function
    return add


@part("inject", 6, "calls that fail, one or all from one on")
def inject_part(findings, clock, seed):
    done, there = inject.campaign(findings, clock, seed, every=clock.all,
                                  say=lambda text: say(text) if sys.stderr.isatty() else None)
    return "%d calls failed, of %d that there are" % (done, there)


@part("kill", 4, "kill -9 at random moments, readers beside it")
def kill_part(findings, clock, seed):
    killed, reads = kills.campaign(findings, clock, seed, most=1000 if clock.all else None)
    return "%d killed, %d reads meanwhile" % (killed, reads)


@part("cut", 1, "power cuts of database and tiers, on an ext4 of their own")
def cut_part(findings, clock, seed):
    return "%d cuts" % cuts.campaign(findings, clock, seed, most=100 if clock.all else None)


def counted(seen):
    return ", ".join("%s %d (%d failed the run)" % (kind, times, failed) for kind, (times, failed) in seen.items()) or "nothing"


@part("harm", 2, "full disks, dead devices, files of entries deleted, cut short, a bit flipped")
def harm_part(findings, clock, seed):
    return counted(harm.campaign(findings, clock, seed, most=200 if clock.all else None))


@part("limit", 1, "limits of memory")
def limit_part(findings, clock, seed):
    return counted(limits.campaign(findings, clock, seed, most=200 if clock.all else None))


def options_parse():
    words = __doc__.split("\n", 1)
    parser = argparse.ArgumentParser(prog="campaign.py", description=words[0], epilog=words[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", metavar="PART", help="only these: " + ", ".join(PARTS))
    parser.add_argument("--time", type=float, default=300, help="seconds in all (300); 0: as long as all of it takes")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (the time of day)")
    parser.add_argument("--again", metavar="WHAT", help="one failed call once more: JOB,GROUP,N,ALL FROM THERE ON,ERRNO")
    options = parser.parse_args()
    for name in options.part:
        if name not in PARTS:
            parser.error("there is no part %s; there are %s" % (name, ", ".join(PARTS)))
    options.part = options.part or list(PARTS)
    options.seed = options.seed or int(time.time())
    return options


def main():
    options = options_parse()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if options.again:
        inject.again(options.again)
        return 0
    findings, shares = Findings(), sum(PARTS[name][0] for name in options.part)
    say("%s, seed %d" % (KVFALL, options.seed))
    for name in options.part:
        share, title, function = PARTS[name]
        clock = Clock(options.time * share / shares if options.time else 1e9)
        clock.all = options.time == 0
        before, begun = len(findings), os.times().elapsed
        done = function(findings, clock, options.seed)
        print("%-8s %s: %s, %d findings, %.0f s" % (name, title, done, len(findings) - before,
                                                    os.times().elapsed - begun), flush=True)
    for kind, why in findings.skipped.items():
        print("skipped  %s: %s" % (kind, why))
    for kind, (times, again, _) in findings.kinds.items():
        print("found %d x  %s\n         %s" % (times, kind, again))
    return 1 if len(findings) else 0


if __name__ == "__main__":
    sys.exit(main())
