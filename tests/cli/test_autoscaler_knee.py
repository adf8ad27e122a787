#!/usr/bin/env python3
"""The autoscaler in simulated runs against knees that runs with a fixed number of users know. KVF_TESTS_LONG=1 in the
environment: searches from every start with every seed; else from three of them, each with one seed in its turn."""
import json
import os

from knees import Knee, near, starts
from tap import SOURCE, case, home, main, run

MINUTES_10, HOURS_3 = 600, 10800
knees = {}
LONG = bool(os.environ.get("KVF_TESTS_LONG"))


def quietly(arguments):
    got = run(arguments)
    assert got.rc == 0, got


def all_near(knee, number, seconds, seeds):
    every = starts(number)
    for turn, start in enumerate(every if LONG else [every[0], every[1], every[-1]]):
        for seed in seeds if LONG else [seeds[turn % len(seeds)]]:
            users, found = knee.seek(start, seconds, seed)
            assert near(users, number), (knee.mode, number, start, seed, users, found)


def system(number, mode):
    """The system, and its knee, which is looked for once."""
    knee = Knee(quietly, home(), number, mode)
    if (number, mode) not in knees:
        knees[number, mode] = knee.knee()
    return knee, knees[number, mode]


@case("qos: one user, eight and 34 are found within 5 % after ten minutes, from any start")
def _():
    for number in (1, 8, 34):
        knee, users = system(number, "qos")
        assert users == number, (number, users, knee.known)
        all_near(knee, users, MINUTES_10, range(1, 4))


@case("qos: an answer of ten minutes is there after three hours")
def _():
    for number in (8, 34) if LONG else (34,):
        knee, users = system(number, "qos")
        for start in (1, 10 * users) if LONG else (10 * users,):
            got, found = knee.seek(start, HOURS_3, 2)
            assert near(got, users) and found, (number, start, got)


@case("qos: ten thousand users are found within 5 % from far above and from one")
def _():
    knee, users = system(10000, "qos")
    for start in (1, 10 * users):
        got, _ = knee.seek(start, MINUTES_10, 1)
        assert near(got, users), (users, start, got)


@case("capacity: the fewest users with the most throughput, within 5 % after ten minutes, from any start")
def _():
    for number in (1, 8, 34):
        knee, users = system(number, "capacity")
        all_near(knee, users, MINUTES_10, range(1, 3))


@case("capacity: users who think longer than a stage lasts are found within 5 % from one, four and far above")
def _():
    knee, users = Knee(quietly, home(), 10000, "capacity"), 6145  # by fixed runs, which take long
    if LONG:
        assert knee.knee() == users, knee.known
    for start, seed in ((1, 6), (4, 5), (10 * users, 2)):
        got, _ = knee.seek(start, MINUTES_10, seed)
        assert near(got, users), (users, start, seed, got)


@case("on a fast drive the shipped searches for the peak answer in their prescribed time")
def _():
    for name, users in (("s4-peak-capacity", 1), ("s8-everything", 1)):
        got = run(["run", str(SOURCE / "configs/smoke" / (name + ".yaml")), "--headless", "--quiet", "--db", "none",
                   "--set", "mode=simulate", "--set", "tiers.nvme.preset=nvme_gen4", "--nvme", "2TiB", "--json", "-"])
        found = {key: entry["value"] for key, entry in json.loads(got.stdout)["results"].items()}
        assert (found["autoscaler_users"], found["autoscaler_found"]) == (users, 1), (name, got)


main()
