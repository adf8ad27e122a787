"""Pages that `kvfall report` writes, for the test scripts: what holds of each of them, and what stands on it."""
import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree

import histories

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> "q" \'s\' ]]> &amp; | `c` **b** [x](http://evil) \x1b[31m\u202eRTL\u200f\nline'
ELEMENTS = {"html", "head", "meta", "link", "title", "style", "body", "header", "nav", "main", "section", "h1", "h2", "h3",
            "h4", "h5", "p", "strong", "span", "ul", "li", "a", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody",
            "tr", "th", "td", "figure", "figcaption", "details", "summary", "pre", "script"}
SHAPES = {"svg", "title", "desc", "path", "rect", "circle", "text", "g", "clipPath"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "rel", "href", "id", "class", "tabindex", "role",
              "aria-hidden", "aria-label", "aria-labelledby", "scope", "d", "x", "y", "width", "height", "cx", "cy", "r", "viewBox",
              "text-anchor", "fill-opacity", "pointer-events", "data-x", "data-y", "data-fine", "data-v", "data-k", "data-at", "data-of", "style", "clip-path"}


def page(text):
    """The page as a tree, if it is well-formed XML of known elements that fetches nothing and runs its one script alone."""
    assert text.startswith("<!DOCTYPE html>\n"), text[:80]
    root = ElementTree.fromstring(text)
    for node in root.iter():
        name = node.tag.rpartition("}")[2]
        assert name in (SHAPES if node.tag.startswith(SVG) else ELEMENTS), node.tag
        assert set(node.attrib) <= ATTRIBUTES, (node.tag, node.attrib)
        href = node.get("href", "#")
        assert href.startswith("#") or href == "data:,", href
    for link in root.iter(XHTML + "a"):
        assert root.find(".//*[@id='%s']" % link.get("href")[1:]) is not None, link.get("href")
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids)), "an id twice"
    for svg in root.iterfind(".//*[@role='img']"):
        assert all(identifier in ids for identifier in svg.get("aria-labelledby").split())
        assert svg.find(SVG + "title").text and svg.find(SVG + "desc").text
    style = "".join(node.text for node in root.iter(XHTML + "style"))
    assert "url(" not in style and "@import" not in style
    policy = [node.get("content") for node in root.iter(XHTML + "meta") if node.get("http-equiv") == "Content-Security-Policy"]
    assert len(policy) == 1 and policy[0].startswith("default-src 'none'; style-src 'unsafe-inline'"), policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == len(list(root.iter(XHTML + "script"))) <= 1, "a script that is not the page's"
    allowed = ["script-src 'sha256-%s'" % base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert re.findall("script-src [^;]*", policy[0]) == allowed, (policy, allowed)
    text = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    for node in root.iter():
        assert re.fullmatch("(--wide:[0-9]+%)?", node.get("style", "")), node.get("style")
    assert "nan" not in re.findall(r"\b(nan|inf)\b", text.lower()), "a number that is none"
    return root


def words(node):
    return " ".join("".join(node.itertext()).split())


def sections(root):
    return [words(section[0]) for section in root.iter(XHTML + "section")]


def charts(root):
    return [words(figure[0]) for figure in root.iter(XHTML + "figure")]


def table(root, caption):
    """The rows of the table whose caption begins so, as lists of texts."""
    found = [node for node in root.iter(XHTML + "table")
             if node.find(XHTML + "caption") is not None and words(node.find(XHTML + "caption")).startswith(caption)]
    assert len(found) == 1, (caption, len(found))
    return [[words(cell) for cell in row] for row in found[0].iter(XHTML + "tr")]


RESULTS = {"measured_s": 20, "throughput_tok_s": 1234.5, "requests_per_s": 5, "requests_done": 1000, "e2e_mean_ms": 12,
           "e2e_p50_ms": 10, "e2e_p95_ms": 20, "e2e_p99_ms": 30, "e2e_max_ms": 40, "hit_ratio": 0.75, "lookups": 8,
           "hits": 6, "misses": 2, "conversation_lookups": 8, "conversation_hits": 6}


UNITS = {"_tok_s": "tok/s", "_per_s": "1/s", "_ms": "ms", "measured_s": "s"}


def add_intervals(db, run_id, count, tiers=("gpu", "nvme"), **values):
    for seq in range(count):
        row = dict(t_s=seq + 1.0, length_s=1.0, phase="warmup" if seq < 2 else "measured", users=3, queue_depth=seq % 5,
                   in_service=2, throughput_tok_s=100.0 + seq, e2e_p50_ms=1.0 + seq, e2e_p95_ms=2.0 + seq, e2e_p99_ms=None,
                   hit_ratio=0.5)
        row.update(values)
        histories.insert(db, "intervals", run_id=run_id, seq=seq, **row)
        for tier in tiers:
            histories.insert(db, "tier_intervals", run_id=run_id, seq=seq, tier=tier, capacity_bytes=1 << 30,
                             used_bytes=(seq + 1) << 20, read_bytes=seq << 20, write_bytes=1 << 20, read_p95_ms=0.5 + seq)


def add_run(db, tiers=("gpu", "nvme"), intervals=10, **values):
    """A run with intervals and results, all by hand; returns its id."""
    values.setdefault("results", RESULTS)
    run_id = histories.add_run(db, **values)
    for suffix, unit in UNITS.items():
        db.execute("UPDATE results SET unit = ? WHERE run_id = ? AND substr(metric, -length(?)) = ?", (unit, run_id, suffix, suffix))
    for tier in tiers:
        histories.insert(db, "run_tiers", run_id=run_id, tier=tier, emulated=int(tier == "gpu"), capacity_bytes=1 << 30,
                         usable_bytes=1 << 30, description=tier + " of the test")
    add_intervals(db, run_id, intervals, tiers)
    return run_id
