#!/usr/bin/env python3
"""`kvfall show`: the sections behind the summary, and the scenario as it was given."""
from histories import add_run, insert, make
from runs import refused
from tap import case, main, run

SCENARIO = "name: given\n# a comment\nmodel: tiny-1b\n"


def show(*options):
    got = run(["show", *options])
    assert got.rc == 0 and not got.stderr, got
    return got.stdout


def fill():
    with make() as db:
        add_run(db, scenario_yaml=SCENARIO, results={"hit_ratio": 0.5, "misses": None})
        insert(db, "decisions", run_id=1, seq=3, n=0, t_s=4.0, mode="qos", action="grow", users_before=50, users_after=60,
               saturation=0.42, p95_ms=38, reason="P95 is under its target")
        insert(db, "decisions", run_id=1, seq=4, n=0, t_s=5.0, mode="qos", action="end", users_before=60, users_after=60)
        for n, (t_s, level, message) in enumerate(((None, "info", "begins"), (2.5, "mark", "here\x1b[m"))):
            insert(db, "events", run_id=1, n=n, t_s=t_s, level=level, message=message)
        insert(db, "criteria", run_id=1, n=0, name="hits", metric="hit_ratio", op=">=", target=0.3, actual=0.5, unit="",
               passed=1)
        insert(db, "criteria", run_id=1, n=1, name="reads", metric="nvme_read_p95_ms", op="<", target=5, unit="ms")
        add_run(db, scenario_yaml="", results={"hit_ratio": 0.5})


@case("each section follows the summary, whole and in its order")
def _():
    fill()
    summary = show("1")
    assert show("1", "--decisions") == summary + (
        "\nDecisions\n"
        "  time  mode  action     users  saturation  throughput      P95  reason\n"
        "4.00 s  qos   grow    50 -> 60      42.0 %          --  38.0 ms\n        P95 is under its target\n"
        "5.00 s  qos   end     60 -> 60          --          --       --  --\n")
    assert show("1", "--events") == summary + (
        "\nEvents\n"
        "  time  level  message\n"
        "    --  info   begins\n"
        "2.50 s  mark   here?[m\n")
    assert show("1", "--criteria") == summary + (
        "\nCriteria\n"
        "criterion  metric            measured       target  verdict\n"
        "hits       hit_ratio           50.0 %  >=   30.0 %  PASS\n"
        "reads      nvme_read_p95_ms  tier off  <   5.00 ms  --\n")
    assert show("1", "--measures") == summary + (
        "\nMetrics\n"
        "metric     value  unit  samples\n"
        "hit_ratio    0.5  --         --\n"
        "misses        --  --         --\n")
    both = show("1", "--events", "--decisions")
    assert both.index("\nDecisions\n") < both.index("\nEvents\n")


@case("a section of which there is nothing says so")
def _():
    fill()
    for name in ("Decisions", "Events", "Criteria"):
        assert show("latest", "--" + name.lower()).endswith("\n%s: none\n" % name)


@case("the scenario comes back as it was given")
def _():
    fill()
    assert show("1", "--scenario") == SCENARIO
    assert show("latest", "--scenario") == ""
    refused(["show", "1", "--scenario", "--json"], "exclude each other")
    refused(["show", "1", "--effective", "--json"], "exclude each other")
    refused(["show", "7"], "there is no run '7'")


main()
