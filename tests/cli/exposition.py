"""A strict reader of the text that Prometheus scrapes, in both forms, and a client that fetches it.

Rules are those of the OpenMetrics 1.0 specification and of Prometheus' text format 0.0.4; of what the former leaves
open, the stricter reading."""
import collections
import http.client
import re

from tap import wait_until

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "summary": ["", "_sum", "_count"],
            "gauge": [""], "info": ["_info"]}
NAME = r"[a-z][a-z0-9_]*"
SAMPLE = re.compile(r"(%s)(?:\{((?:%s=\"(?:[^\"\\\n]|\\[\\\"n])*\",?)*)\})? (\S+)$" % (NAME, NAME))
LABEL = re.compile(r"(%s)=\"((?:[^\"\\\n]|\\[\\\"n])*)\"(,|$)" % NAME)
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]\d+)?$")

Family = collections.namedtuple("Family", "type help unit samples")


def number(text):
    assert NUMBER.match(text), text
    return float(text) if re.search("[.e]", text) else int(text)


def labels_of(text):
    found, at = {}, 0
    while at < len(text or ""):
        one = LABEL.match(text, at)
        assert one and one.group(1) not in found, text
        value = re.sub(r"\\(.)", lambda part: "\n" if part.group(1) == "n" else part.group(1), one.group(2))
        assert value != "", ("an empty label is none", text)
        found[one.group(1)] = value
        at = one.end()
        assert one.group(3) == "," or at == len(text), text
    assert not (text or "").endswith(","), text
    return found


def key(labels, without=()):
    return frozenset((name, value) for name, value in labels.items() if name not in without)


def check_histogram(samples, unbounded):
    """Buckets in order of their bounds, counts that never fall, the last one the number of all."""
    series = {}
    for suffix, labels, value in samples:
        series.setdefault(key(labels, ("le",)), []).append((suffix, labels.get("le"), value))
    for labels, points in series.items():
        bounds = [le for suffix, le, _ in points if suffix == "_bucket"]
        counts = [value for suffix, _, value in points if suffix == "_bucket"]
        assert [suffix for suffix, _, _ in points] == ["_bucket"] * len(bounds) + ["_sum", "_count"], points
        assert bounds[-1] == "+Inf" and counts == sorted(counts) and counts[-1] == points[-1][2], (labels, points)
        assert all(unbounded == bool(re.search("[.e]", bound)) or unbounded is None for bound in bounds[:-1]
                   if float(bound) == int(float(bound))), bounds
        assert [float(bound) for bound in bounds] == sorted({float(bound) for bound in bounds}), bounds
        assert points[-2][2] >= 0


class Scrape:
    """The families of a text; every rule that it breaks is a failure."""

    def __init__(self, text, openmetrics):
        self.families = {}
        assert text.endswith("\n") and "\n\n" not in text and "\r" not in text, text[-200:]
        lines = text[:-1].split("\n")
        if openmetrics:
            assert lines.pop() == "# EOF", text[-200:]
        name = None
        for line in lines:
            if line.startswith("#"):
                name = self._comment(line, name, openmetrics)
            else:
                self._sample(line, name, openmetrics)
        for name, family in self.families.items():
            assert family.samples, "%s has no sample" % name
            seen = [(suffix, key(labels)) for suffix, labels, _ in family.samples]
            assert len(set(seen)) == len(seen), "%s has the same sample twice" % name
            if family.type == "histogram":
                check_histogram(family.samples, openmetrics)

    def _comment(self, line, name, openmetrics):
        mark, what, of, rest = line.split(" ", 3)
        assert mark == "#" and what in ("HELP", "TYPE", "UNIT") and rest, line
        if what == "HELP":  # it opens a family
            assert of not in self.families and re.fullmatch("kvfall_" + NAME, of) and "\\" not in rest, line
            self.families[of] = Family(None, rest, "", [])
            return of
        family = self.families[name]
        assert of == name and not family.samples, line
        if what == "TYPE":
            assert family.type is None and rest in SUFFIXES and (openmetrics or rest != "info"), line
            self.families[name] = family._replace(type=rest)
        else:
            assert openmetrics and family.type not in (None, "info") and name.endswith("_" + rest), line
            self.families[name] = family._replace(unit=rest)
        return name

    def _sample(self, line, name, openmetrics):
        found = SAMPLE.match(line)
        assert found, line
        family = self.families[name]
        suffix = found.group(1)[len(name):]
        allowed = SUFFIXES[family.type] if openmetrics or family.type != "counter" else [""]
        assert found.group(1).startswith(name) and suffix in allowed, (name, family.type, line)
        assert openmetrics or family.type != "counter" or name.endswith("_total"), line
        labels, value = labels_of(found.group(2)), number(found.group(3))
        assert ("le" in labels) == (suffix == "_bucket"), line
        assert ("quantile" in labels) == (family.type == "summary" and suffix == ""), line
        assert family.type not in ("counter", "histogram") or value >= 0, line
        family.samples.append((suffix, labels, value))

    def series(self, name):
        """{labels: value} of the samples of that name, whichever family they belong to; {} when there are none."""
        found = {}
        for of, family in self.families.items():
            for suffix, labels, value in family.samples:
                if of + suffix == name:
                    found[key(labels)] = value
        return found

    def value(self, name, /, **labels):
        """Of the one sample that has these labels and perhaps others; None when there is none."""
        found = [value for one, value in self.series(name).items() if one >= key(labels)]
        assert len(found) < 2, (name, labels, found)
        return found[0] if found else None

    def total(self, name, /, **labels):
        return sum(value for one, value in self.series(name).items() if one >= key(labels))

    def names(self):
        """The names of all samples, as a query has them."""
        return {of + suffix for of, family in self.families.items() for suffix, _, _ in family.samples}


def request(port, path="/metrics", method="GET", headers=None, host="127.0.0.1"):
    """(status, headers, body) of one request."""
    connection = http.client.HTTPConnection(host, port, timeout=20)
    try:
        connection.request(method, path, headers=headers or {})
        got = connection.getresponse()
        return got.status, dict(got.getheaders()), got.read().decode()
    finally:
        connection.close()


def scrape(port, openmetrics=True, host="127.0.0.1"):
    status, headers, body = request(port, headers={"Accept": "application/openmetrics-text"} if openmetrics else {},
                                    host=host)
    assert status == 200 and headers["Content-Type"] == (OPENMETRICS if openmetrics else TEXT), (status, headers, body)
    assert int(headers["Content-Length"]) == len(body.encode()), headers
    return Scrape(body, openmetrics)


def serving(process):
    """The port that a run says on its first line of standard error."""
    line = process.stderr.readline().decode()
    found = re.fullmatch(r"kvfall: metrics at http://(127\.0\.0\.1|\[::1\]):(\d+)/metrics\n", line)
    assert found, line
    return int(found.group(2))


def scrape_after(port, intervals, **how):
    """A scrape whose counters have taken in that many intervals at least."""
    def enough():
        got = scrape(port, **how)
        return got if (got.value("kvfall_run_intervals_total") or 0) >= intervals else None
    return wait_until(enough, what="%d intervals" % intervals)
