#!/usr/bin/env python3
"""contrib/grafana and contrib/pcp against what a run really serves."""
import json
import os
import re
import signal
import socket
import subprocess
import urllib.parse
import urllib.request

from exposition import scrape, scrape_after, serving
from runs import result, start
from tap import BUILD, SOURCE, Skip, case, finish, home, main, need_tool, spawn, wait_until
from wheels import wheels

FAKE = BUILD / "tests" / "unit" / "fake"
DASHBOARD = SOURCE / "contrib/grafana/kvfall.json"
METRIC = re.compile(r"kvfall_\w+")


def scraped(asked=()):
    """Labels of what is served by a run on a machine with a GPU, whose driver is a stand-in; as Prometheus names things.
    An interval in which nothing was looked up has no hit ratio, and so on: later ones are asked while a name is missing."""
    if not (FAKE / "libnvidia-ml.so.1").exists():
        raise Skip("the stand-in for the driver is not built; make check builds it")
    process = start({"run.duration": "60s"}, "--quiet", "--metrics", "0",
                    env={"LD_LIBRARY_PATH": str(FAKE), "FAKE_NVML": "devices=1"})
    port = int(re.search(rb":(\d+)/metrics", process.stderr.readline()).group(1))

    def complete():
        got = scrape(port, openmetrics=False)
        return got if got.series("kvfall_gpu_power_watts") else None
    scrape_after(port, 2)
    seen = labels_seen(wait_until(complete, what="figures of the GPU"))
    for intervals in range(3, 40):
        if set(asked) <= set(seen):
            break
        seen.update(labels_seen(scrape_after(port, intervals, openmetrics=False)))
    process.send_signal(signal.SIGINT)
    assert finish(process).rc == 130
    return seen


def dashboard():
    return json.loads(DASHBOARD.read_text())


def panels(board):
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board):
    """(where, expression, legend) of all that is asked of Prometheus."""
    found = [(panel["title"], target["expr"], target["legendFormat"]) for panel in panels(board)
             for target in panel["targets"]]
    found += [("annotation " + one["name"], one["expr"], "") for one in board["annotations"]["list"]]
    return found


def alerts():
    """The same of the alert rules."""
    text = (SOURCE / "contrib/prometheus/kvfall-alerts.yml").read_text()
    found = re.findall(r"- alert: (\w+)\n +expr: ([^\n]+)\n(.*?)(?=\n +- alert|\Z)", text, re.DOTALL)
    return [("alert " + name, expression, re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"{{\1}}", rest)) for name, expression, rest in found]


def labels_seen(got):
    """{metric: names of its labels}; what Prometheus adds is in them."""
    found = {}
    for name, family in got.families.items():
        for suffix, labels, _ in family.samples:
            found.setdefault(name + suffix, {"instance", "job"}).update(labels)
    return found


def documented():
    """{metric: names of its labels} in kvfall-export(5), for what this machine has no figures of."""
    text = (SOURCE / "man/kvfall-export.5").read_text()
    return {name: {"instance", "job"} | set(re.findall(r"\w+", labels or "")) for name, labels in re.findall(
        r"^\.It Va (kvfall_\w+) Pq \w+(?: by (.*))?$", text, re.MULTILINE)}


@case("the dashboard and the alerts ask for nothing that a run does not serve, and for labels that are there")
def _():
    asked = queries(dashboard()) + alerts()
    # counts of the kernel are there only where the nvme tier lies on a block device
    device = {name: labels for name, labels in documented().items() if name.startswith("kvfall_device_")}
    seen = {**device, **scraped({name for _, expression, _ in asked for name in METRIC.findall(expression)} - set(device))}
    assert len(alerts()) == 3
    for where, expression, _ in asked:
        if "quantile(" in expression:
            assert re.fullmatch(r"histogram_quantile\([0-9.]+, sum by \([a-z, ]*\ble\) \(rate\(kvfall_\w+_bucket\{[^}]*\}\[[^]]+\]\)\)\)", expression), where
        assert 'quantile="' not in expression, where  # those of one interval do not add up
    assert sum("histogram_quantile(" in expression for _, expression, _ in asked) >= 9
    used = set()
    for where, expression, legend in asked:
        names = METRIC.findall(expression)
        assert names, (where, expression)
        for name in names:
            assert name in seen, "%s: %s is not among what a run serves" % (where, name)
        used.update(names)
        there = set().union(*(seen[name] for name in names))
        wanted = set(re.findall(r"\{\{(\w+)\}\}", legend))
        for selector in re.findall(r"\{([^}]*)\}", expression):
            wanted.update(re.findall(r"(\w+) *=~?", selector))
        for group in re.findall(r"\bby \(([^)]*)\)", expression):
            wanted.update(re.findall(r"\w+", group))
        assert wanted <= there, (where, wanted - there, expression)
    variable = dashboard()["templating"]["list"][0]["query"]["query"]
    assert set(METRIC.findall(variable)) <= set(seen), variable
    assert len(used) > 40, sorted(used)


@case("the dashboard is one that Grafana takes: a data source to choose, panels apart from each other")
def _():
    board = dashboard()
    source = {"type": "prometheus", "uid": "${%s}" % board["__inputs"][0]["name"]}
    assert board["id"] is None and board["schemaVersion"] >= 30 and board["uid"] == "kvfall"
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and cells and not cells & taken, panel["title"]
        taken |= cells
    for panel in panels(board):
        assert panel["datasource"] == source and panel["description"], panel["title"]
        assert all(target["datasource"] == source for target in panel["targets"]), panel["title"]
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs), panel["title"]
    kinds = {one["id"] for one in board["__requires"] if one["type"] == "panel"}
    assert kinds == {panel["type"] for panel in panels(board)}, kinds


def plain(expression, window="1m"):
    """As Grafana asks it."""
    text = expression.replace("$__rate_interval", window).replace("$__interval", window).replace("$instance", ".*")
    assert "$" not in text, expression
    return text


@case("promtool takes every expression of the dashboard")
def _():
    promtool = need_tool("promtool")
    rules = [{"record": "rule:%d" % number, "expr": plain(expression)}
             for number, (_, expression, _) in enumerate(queries(dashboard()) + alerts())]
    path = home() / "work/rules.json"  # JSON is YAML
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    said = subprocess.run([promtool, "check", "rules", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60)
    assert said.returncode == 0 and b"%d rules found" % len(rules) in said.stdout, said.stdout.decode()


def series(name, values, **labels):
    """One of promtool's: a sample a minute."""
    told = ",".join('%s="%s"' % item for item in {"instance": "a:9464", "job": "kvfall", **labels}.items())
    return {"series": "%s{%s}" % (name, told), "values": values}


@case("each alert fires on what its name says, and none on a run that does well")
def _():
    promtool = need_tool("promtool")
    ill = [series("kvfall_class_requests_ended_total", "0+10x20", **{"class": "chat"}),
           series("kvfall_class_slo_violations_total", "0+1x20", **{"class": "chat"}),  # one in ten
           series("kvfall_tier_chunks_in_flight", "8x20", tier="nvme"),
           series("kvfall_tier_transferred_bytes_total", "4096x20", tier="nvme", direction="read"),
           series("kvfall_tier_transferred_bytes_total", "4096x20", tier="nvme", direction="write"),
           series("kvfall_cache_writes_refused_total", "0+2x20", tier="nvme")]
    stuck = [series("kvfall_class_requests_ended_total", "0x20", **{"class": "chat"}),  # nothing ends, and all is past its target
             series("kvfall_class_slo_violations_total", "0+3x20", **{"class": "chat"})]
    well = [series("kvfall_class_requests_ended_total", "0+100x20", **{"class": "chat"}),
            series("kvfall_class_slo_violations_total", "0+4x20", **{"class": "chat"}),  # four in a hundred
            series("kvfall_tier_chunks_in_flight", "8x20", tier="nvme"),
            series("kvfall_tier_transferred_bytes_total", "0+4096x20", tier="nvme", direction="read"),
            series("kvfall_cache_writes_refused_total", "7x20", tier="nvme")]
    idle = [series("kvfall_tier_chunks_in_flight", "0x20", tier="nvme"),
            series("kvfall_tier_transferred_bytes_total", "4096x20", tier="nvme", direction="read")]
    rules = SOURCE / "contrib/prometheus/kvfall-alerts.yml"
    missed, hung, refused = "KvfallTargetMissed", "KvfallDeviceHung", "KvfallWritesRefused"
    for what, given, fire in (("ill", ill, {missed, hung, refused}), ("stuck", stuck, {missed}), ("well", well, set()),
                              ("idle", idle, set())):
        checks = [{"eval_time": "10m", "alertname": name, "exp_alerts": []} for name in (missed, hung, refused)
                  if name not in fire]
        text = promtool_test(rules, given, checks)
        said = subprocess.run([promtool, "test", "rules", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        assert said.returncode == 0, (what, said.stdout.decode())
        for name in fire:  # promtool compares whole texts: one that expects nothing fails and prints what came
            text = promtool_test(rules, given, [{"eval_time": "10m", "alertname": name, "exp_alerts": []}])
            said = subprocess.run([promtool, "test", "rules", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            assert said.returncode != 0 and b'instance="a:9464"' in said.stdout, (what, name, said.stdout.decode())


def promtool_test(rules, given, checks):
    path = home() / "work/alerts.json"
    path.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": [
        {"interval": "1m", "input_series": given, "alert_rule_test": checks}]}))
    return str(path)


def prometheus(port, rules):
    """A real one that scrapes a run every half second; it answers queries."""
    program = need_tool("prometheus")
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    settings = {"global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"}, "rule_files": [str(rules)],
                "scrape_configs": [{"job_name": "kvfall", "static_configs": [{"targets": ["127.0.0.1:%d" % port]}]}]}
    path = home() / "work/prometheus.yml"
    path.write_text(json.dumps(settings))
    process = spawn(["--config.file=%s" % path, "--storage.tsdb.path=%s" % (home() / "work/data"), "--log.level=error",
                     "--web.listen-address=127.0.0.1:%d" % own], program=program, overwrite=False)

    def ask(part, **words):
        with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/%s?%s" % (own, part, urllib.parse.urlencode(words))) as got:
            return json.load(got)["data"]

    def ready():
        assert process.poll() is None, process.stderr.read()
        try:
            return ask("query", query="vector(1)")
        except OSError:
            return None
    wait_until(ready, what="Prometheus")
    return ask


def answers(ask):
    """What a real Prometheus says of a run that goes on: each panel has values, each rule is healthy."""
    # figures of a GPU need one, those of a device a tier on one, and no decision is taken with a fixed number of users
    may_lack = re.compile("kvfall_(gpu|device|autoscaler)_")
    for where, expression, _ in queries(dashboard()):
        if may_lack.search(expression) or where.startswith("annotation"):
            continue
        wait_until(lambda: ask("query", query=plain(expression, "5s"))["result"], what=where)
    rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
    assert [rule["health"] for rule in rules] == ["ok"] * 3, rules


if os.environ.get("KVF_TESTS_LONG"):
    @case("the dashboard read by Grafana's own types and written again is the same")
    def _():
        python = wheels("grafana-foundation-sdk==1769699998!10.1.0") / "bin/python"
        said = subprocess.run([python, "-c", """if True:
            import json, sys
            from grafana_foundation_sdk.cog.encoder import JSONEncoder
            from grafana_foundation_sdk.cog.plugins import register_default_plugins
            from grafana_foundation_sdk.models.dashboard import Dashboard
            register_default_plugins()
            print(JSONEncoder().encode(Dashboard.from_json(json.load(open(sys.argv[1])))))
            """, DASHBOARD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert said.returncode == 0, said.stderr.decode()

        def lost(ours, theirs, at=""):
            if isinstance(ours, dict) and isinstance(theirs, dict):
                return [one for key, value in ours.items() for one in (
                    lost(value, theirs[key], at + "." + key) if key in theirs else [at + "." + key])]
            if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
                return [one for n, pair in enumerate(zip(ours, theirs)) for one in lost(*pair, "%s[%d]" % (at, n))]
            return [] if ours == theirs else [at]
        # what only an import reads, and the head of an annotation, which the types leave out
        assert sorted(lost(dashboard(), json.loads(said.stdout))) == [
            ".__inputs", ".__requires", ".annotations.list[0].titleFormat", ".id"], lost(dashboard(), json.loads(said.stdout))

    @case("a real Prometheus scrapes a run: every panel has values, and its quantiles are those of the summary")
    def _():
        need_tool("prometheus")
        written = home() / "work/summary.json"
        process = start({"run.duration": "20s", "run.warmup": "0s"}, "--quiet", "--metrics", "0", "--json", written.resolve())
        port = serving(process)
        ask = prometheus(port, SOURCE / "contrib/prometheus/kvfall-alerts.yml")
        answers(ask)
        latest = {}

        def ended():
            for quantile in ("50", "95", "99"):
                found = ask("query", query="histogram_quantile(0.%s, sum by (le) (kvfall_request_e2e_seconds_bucket))" % quantile)
                latest[quantile] = float(found["result"][0]["value"][1]) if found["result"] else latest[quantile]
            return process.poll() is not None
        wait_until(ended, timeout=60, what="the run's end")
        assert finish(process).rc == 0
        summary = json.loads(written.read_text())
        for quantile, seconds in latest.items():
            ours = result(summary, "e2e_p%s_ms" % quantile) / 1e3
            assert ours / 1.3 < seconds < ours * 1.3, (quantile, ours, seconds)  # one step between two bounds


@case("the entry for Performance Co-Pilot: the usual address, and filters that meet something")
def _():
    lines = (SOURCE / "contrib/pcp/kvfall.url").read_text().splitlines()
    assert lines[0] == "http://127.0.0.1:9464/metrics", lines
    # pmdaopenmetrics(1): keyword, whether, of what, a regular expression that matches from the start
    filters = [re.fullmatch(r"FILTER: (INCLUDE|EXCLUDE|OPTIONAL) (METRIC|LABEL) (\S+)", line) for line in lines[1:]
               if line and not line.startswith("#")]
    assert filters and all(filters), lines
    seen = scraped()
    names = {"METRIC": set(seen), "LABEL": set().union(*seen.values())}
    for one in filters:
        assert any(re.match(one.group(3), name) for name in names[one.group(2)]), one.group()


main()
