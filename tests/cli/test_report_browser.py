"""The page of kvfall report in a browser, from a file: it is drawn, light and dark, fits a telephone, no label is cut or
stands on another one, and nothing is complained of."""
import html
import json
import re
import shutil
import struct
import subprocess
import zlib

import histories
from pages import HOSTILE, RESULTS, add_run
from runs import TINY, measure, write
from tap import Skip, case, home, main, need_tool, run, scratch

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")

# Measures the page from inside, for a copy of it that may run scripts.
MEASURE = """<script>
document.addEventListener("DOMContentLoaded", function () {
  var wrong = [];
  document.querySelectorAll("svg.plot[role=img]").forEach(function (svg) {
    var box = svg.viewBox.baseVal, seen = [];
    svg.querySelectorAll("text").forEach(function (text) {
      var b = text.getBBox(), what = svg.querySelector("title").textContent + ": " + text.textContent;
      if (!b.width || !text.getClientRects().length) return;
      if (b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1 || b.y + b.height > box.height + 1) wrong.push("cut: " + what);
      if (text.classList.contains("p") || text.classList.contains("v")) return;
      seen.forEach(function (o) {
        var over_x = Math.min(b.x + b.width, o.x + o.width) - Math.max(b.x, o.x);
        var over_y = Math.min(b.y + b.height, o.y + o.height) - Math.max(b.y, o.y);
        if (over_x > 1 && over_y > 4) wrong.push("on each other: " + what + " / " + o.what);
      });
      b.what = what;
      seen.push(b);
    });
  });
  document.querySelectorAll("main *").forEach(function (e) {
    var name = e.tagName + " " + e.className + ": " + (e.textContent || "").slice(0, 60);
    if (innerWidth == 390 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX != "visible" &&
        getComputedStyle(e).overflowX != "hidden") wrong.push("scrolls sideways: " + name);
  });
  parent.postMessage({wrong: wrong, width: innerWidth, needed: document.documentElement.scrollWidth,
                      charts: document.querySelectorAll("svg.plot[role=img]").length}, "*");
});
</script></head>"""

# A browser has a least width of its own; a frame in it has none.
FRAMES = """<!DOCTYPE html><body><p></p>%s<script>
var all = [];
addEventListener("message", function (event) { all.push(event.data); document.body.firstChild.textContent = JSON.stringify(all); });
</script></body>"""


def browser():
    for name in BROWSERS:
        if shutil.which(name):
            return shutil.which(name)
    raise Skip("none of %s is installed" % ", ".join(BROWSERS))


def look(page, *options, width=800, height=600):
    """Runs the browser on a file; returns what it wrote to both streams."""
    profile = scratch("browser")
    got = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
                          "--user-data-dir=%s" % profile, "--window-size=%d,%d" % (width, height), *options, "file://%s" % page],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return got.stdout.decode("utf-8", "replace"), got.stderr.decode("utf-8", "replace")


def complaints(log):
    return [line for line in log.splitlines() if "CONSOLE" in line]


def pixels(path):
    """The rows of a PNG of 8 bits as lists of (red, green, blue)."""
    data, at, body = path.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            body += data[at + 8:at + 8 + length]
        at += 12 + length
    step = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw, before, rows = zlib.decompress(body), bytes(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        for i in range(len(line)):
            left, up = line[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + up) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                line[i] = (line[i] + min((left, up, corner), key=lambda v: abs(guess - v))) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, len(line), step)])
        before = bytes(line)
    return rows


def screenshot(page, *options, **size):
    """What a picture of the page holds: its first pixel, and all its colours; and what was complained of."""
    picture = scratch("picture") / "page.png"
    _, log = look(page, "--screenshot=%s" % picture, *options, **size)
    assert picture.exists(), log
    rows = pixels(picture)
    return rows[0][0], {colour for row in rows for colour in row}, complaints(log)


def report(*refs):
    page = home() / "work" / ("report-%s.html" % "-".join(re.sub(r"\W", "", str(ref)) for ref in refs))
    got = run(["report", *refs, "-o", page, "--overwrite"])
    assert got.rc == 0, got
    return page


def measured(page, *widths):
    """What MEASURE found in a copy of the page, by its width."""
    copy, outer = page.with_suffix(".measured.html"), page.with_suffix(".frames.html")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    copy.write_text(text.replace("</head>", MEASURE, 1))
    outer.write_text(FRAMES % "".join('<iframe src="%s" width="%d" height="900" style="border:0"></iframe>' % (copy.name, width)
                                      for width in widths))
    dom, log = look(outer, "--dump-dom", width=1600)
    found = re.search(r"<p>(.*)</p>", dom, re.S)
    assert found and found.group(1), (dom[-500:], log)
    return {one["width"]: one for one in json.loads(html.unescape(found.group(1)))}


def long_names(db):
    """A run of four tiers, many classes and long names."""
    run_id = add_run(db, ("gpu", "cpu", "nvme", "remote"), 40, name=HOSTILE[:60], description="d" * 300, note="n" * 900)
    for n in range(8):
        name = "class-%d-of-the-longest-names" % n
        histories.insert(db, "run_classes", run_id=run_id, n=n, share=0.1, p95_ms=2.0 + n / 50, **{"class": name})
        for seq in range(40):
            histories.insert(db, "qos_intervals", run_id=run_id, seq=seq, met_ratio=0.5, ttft_p95_ms=2.0 + n * seq, queued=seq * n,
                             **{"class": name})
    return run_id


@case("light and dark, with its lines drawn, and not a complaint")
def _():
    with histories.make() as db:
        add_run(db, intervals=30)
        long_names(db)
    page = report("1")
    corner, colours, said = screenshot(page, height=1000)
    assert corner == (255, 255, 255) and not said, (corner, said)
    assert {(0, 0x72, 0xb2), (0x1b, 0x1f, 0x24)} <= colours, "its first line and its text"
    corner, colours, said = screenshot(page, "--blink-settings=preferredColorScheme=0", height=1000)
    assert corner == (0x0f, 0x13, 0x18) and (0x4a, 0xa8, 0xe8) in colours and not said, (corner, said)
    assert not screenshot(report("2"), width=400, height=300)[2]


@case("a script in the page would be seen, and would not run")
def _():
    with histories.make() as db:
        add_run(db)
    page = report("1")
    page.write_text(page.read_text().replace("</head>", "<script>document.title = 'ran'</script></head>", 1))
    dom, log = look(page, "--dump-dom")
    assert complaints(log) and "<title>ran" not in dom, log


# Uses the page as a reader would, in a copy of it without its policy.
USE = """<script>
addEventListener("load", function () {
  var charts = Array.from(document.querySelectorAll("svg[data-x]")).filter(function (svg) { return /clock /.test(svg.dataset.x); });
  var one = charts[0], two = charts[1], late = document.querySelector("svg[data-x*=' log ms ']"), told = {};
  function said(svg) { return svg.closest("figure").querySelector(".said").textContent; }
  function move(name, part, svg) {
    var on = svg || one, at = on.dataset.x.split(" "), x = +at[2] + part * (at[3] - at[2]), box = on.getBoundingClientRect();
    on.setPointerCapture = function () {};
    on.dispatchEvent(new PointerEvent(name, {clientX: box.left + x * box.width / on.viewBox.baseVal.width, clientY: box.top + 50, bubbles: true}));
  }
  function shown(svg) { return Array.from(svg.querySelectorAll("text.made, .ticks text")).filter(
    function (t) { return t.getClientRects().length; }).map(function (t) { return t.textContent; }); }
  told.linked = [location.hash, said(one), said(two), shown(one)];
  document.querySelector(".reset").click();
  move("pointermove", 0.5);
  told.cursor = [said(one), said(two)];
  move("pointerdown", 0.25); move("pointermove", 0.5); move("pointerup", 0.5);
  told.zoomed = [shown(one), shown(two), location.hash];
  told.alone = document.querySelector("[data-fine]").nextElementSibling.nextElementSibling.getAttribute("d");
  document.querySelector(".reset").click();
  told.whole = shown(two);
  move("pointerdown", 0.5, late); move("pointermove", 0.75, late); move("pointerup", 0.75, late);
  told.late = shown(late);
  var key = document.querySelector(".key li"), line = key.closest("figure").querySelector("[data-k='0']");
  told.series = [getComputedStyle(line).display];
  key.click(); told.series.push(getComputedStyle(line).display);
  key.click(); told.series.push(getComputedStyle(line).display);
  var table = Array.from(document.querySelectorAll("table")).find(function (t) { return t.tHead.textContent.includes("P95"); });
  table.tHead.rows[0].cells[1].click();
  told.sorted = Array.from(table.tBodies[0].rows).map(function (r) { return r.cells[1].textContent; });
  document.body.textContent = JSON.stringify(told);
});
</script></head>"""


@case("its script runs under its own policy, and gives cursor, zoom, series, order and links; --no-script has none")
def _():
    with histories.make() as db:
        add_run(db, intervals=30, results={**RESULTS, "ttft_mean_ms": 2, "ttft_p95_ms": 900, "queue_wait_mean_ms": 3000, "queue_wait_p95_ms": 4000})
    page = report("1")
    dom, log = look(page, "--dump-dom")
    assert 'class="live"' in dom and not complaints(log), log
    assert len(re.search("<script>(.*?)</script>", page.read_text(), re.S).group(1)) < 30000
    copy = page.with_suffix(".used.html")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text()).replace("</head>", USE, 1)
    fine = '<path class="w k0" data-fine="0 800 %s" d=""/>' % ("!UUUUUUUUU" * 40)  # a long line of values that stand alone
    text, found = re.subn(r'(<svg[^>]* data-x="[^"]*clock [^"]*".*?)(<path class="l k0)', r"\1%s\2" % fine, text, count=1, flags=re.S)
    assert found
    # The last chart as if its axis were of latencies of 1 ms to 10,000 s.
    head, tail = text.rsplit(' data-x="', 1)
    copy.write_text('%s data-x="1 1e7%s' % (head, re.sub(r'^\S+ \S+((?: \S+){4}) \w+ \w+ [^"]*', r"\1 log ms 0", tail)))
    link = copy.with_name(copy.name + "#p0@10:5-15")
    dom, log = look(link, "--dump-dom", width=1400)
    assert not complaints(log), log
    told = json.loads(html.unescape(re.search("<body>(.*)</body>", dom, re.S).group(1)))
    assert told["linked"][0] == "#p0@10:5-15" and told["linked"][1].startswith("0:10") and "109" in told["linked"][1], told
    assert told["linked"][2].startswith("0:10") and {"0:06", "0:10", "0:14"} <= set(told["linked"][3]), told
    assert all(text.startswith("0:15") for text in told["cursor"]), told
    assert told["zoomed"][0] == told["zoomed"][1] and "0:10" in told["zoomed"][0] and "0:30" not in told["zoomed"][0], told
    assert re.fullmatch("#p0@15:7.5[0-9]*-15", told["zoomed"][2]) and told["whole"][-1] == "0:30", told
    assert {"5 s", "100 s"} <= set(told["late"]) and not any("min" in label for label in told["late"]), told
    assert re.fullmatch(r"(M[0-9.]+ [0-9.]+h\.01){8,20}", told["alone"]), told
    assert told["series"] == ["inline", "none", "inline"], told
    assert told["sorted"] == ["3.00 s", "12.0 ms", "2.00 ms"], told
    plain = home() / "work/plain.html"
    assert run(["report", "1", "--no-script", "-o", plain]).rc == 0
    assert "<script" not in plain.read_text() and "script-src" not in plain.read_text()


# What is under the cursor of each chart over run time, in a copy of the page without its policy.
SAID = """<script>addEventListener("load", function () {
  document.body.textContent = JSON.stringify(Array.from(document.querySelectorAll("figure"), function (figure) {
    var svg = figure.querySelector("svg[data-x]");
    return svg && /clock /.test(svg.dataset.x) ? [svg.querySelector("title").textContent, figure.querySelector(".said").textContent] : null;
  }).filter(Boolean));
});</script></head>"""


@case("in a zoom the values under the cursor are those of single intervals, of runs of any length")
def _():
    with histories.make() as db:
        for intervals in (400, 1300):
            add_run(db, intervals=intervals)
    for ref, at, clock in (("1", 200, "3:20"), ("2", 700, "11:40")):
        page = report(ref)
        copy = page.with_suffix(".said.html")
        copy.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text()).replace("</head>", SAID, 1))
        for zoom, close in (("", False), (":%d-%d" % (at - 10, at + 10), True)):
            dom, log = look(copy.with_name("%s#p0@%d%s" % (copy.name, at, zoom)), "--dump-dom")
            assert not complaints(log), log
            said = dict(json.loads(html.unescape(re.search("<body>(.*)</body>", dom, re.S).group(1))))
            exact = "%s   %d tok/s" % (clock, 99 + at)
            assert said["Throughput"] == exact if close else " to " in said["Throughput"], said
            if not close:
                continue
            seq = at - 1
            assert said["Requests waiting and in service"] == "%s   waiting: %d   in service: 2   users: 3" % (clock, seq % 5), said
            assert said["Hit ratio"] == "%s   with decode: 50.0 %%" % clock, said
            assert said["End-to-end latency"] == "%s   P50: %d ms   P95: %d ms" % (clock, 1 + seq, 2 + seq), said
            assert said["Tier occupancy"].startswith("%s   gpu (emulated): %d MiB   nvme: %d MiB" % (clock, seq + 1, seq + 1)), said


@case("no label is cut or stands on another one, and no width needs scrolling, from a telephone to a wide screen")
def _():
    with histories.make() as db:
        add_run(db, intervals=30, bottleneck="x" * 400)
        long_names(db)
        add_run(db, intervals=1)
        for n, kind in enumerate(("chatbot", "document")):  # keys that differ by their whole names, values without a space
            persona = {"name": kind, "context": [4096, 16384], "generate": [200, 800], "think": ["300ms", "1500ms"], "spread": 0.25}
            db.execute("UPDATE runs SET effective_json = ? WHERE run_id = ?", (json.dumps({
                "workload": {"personas": [persona], "path": "/mnt/" + "a_long_name" * 9}, "tiers": {"nvme": {"path": "/mnt/%d/" % n + "nvme" * 30}}}), 1 + n))
    page = report("1", "2", "3")
    got = measured(page, 360, 390, 1400)
    assert set(got) == {360, 390, 1400}, got
    for width, one in got.items():
        assert one["charts"] > 30 and not one["wrong"] and one["needed"] <= width, one


def printed(page):
    """The text of each sheet of paper."""
    to_text, paper = need_tool("pdftotext"), scratch("paper") / "page.pdf"
    _, log = look(page, "--no-pdf-header-footer", "--print-to-pdf=%s" % paper)
    assert paper.exists() and not complaints(log), log
    got = subprocess.run([to_text, "-layout", paper, "-"], stdout=subprocess.PIPE, timeout=60, check=True).stdout.decode()
    return [re.sub(r"\s+", " ", sheet) for sheet in got.split("\f")[:-1]]


def plain(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", markup))).strip()


@case("on paper each row of points is one line, a table's title is on the sheet of its first row, and the scenario is there")
def _():
    with histories.make() as db:
        for n in range(1, 4):
            add_run(db, intervals=30, scenario_yaml="# the last line of run %d\n" % n)
        long_names(db)
    for refs in (["1"], ["1", "2", "3", "4"]):
        page = report(*refs)
        sheets = printed(page)
        everything = " ".join(sheets)
        for caption, head, row in re.findall("<caption>([^<]*)</caption><thead>.*?<th[^>]*>(.*?)</th>.*?<tbody>\\s*<tr>(.*?)</th>",
                                             page.read_text(), re.S):
            title, first = plain(caption + " " + head), plain(row)[:30]  # one caption begins as another does
            whole = [sheet for sheet in sheets if title in sheet]
            assert not whole or any(first in sheet.split(title, 1)[1] for sheet in whole), (refs, title, first)
        for n in refs[:3]:
            assert "# the last line of run %s" % n in everything, refs
        assert "the database (folded away: open it, then print)" in everything, refs
    got = run(["sweep", write({"mode": "simulate", "tiers.nvme": None, "tiers.cpu": None, "run.max_requests": 60, "run.duration": "60s",
                               "sweep": {"keys": {"workload.users": [2, 3, 4, 6, 8], "tiers.gpu.capacity": [
                                   "128KiB", "256KiB", "512KiB", "8MiB"]}}}), "--quiet"])
    assert got.rc == 0, got
    page = report("sweep:1")
    everything, table = " ".join(printed(page)), page.read_text().split("<caption>Points</caption>")[1]
    rows = [plain(row) for row in re.findall("<tr>(<th scope=\"row\".*?)</tr>", table.split("</table>")[0])]
    assert len(rows) == 20 and any("requests failed" in row for row in rows), rows
    assert all(row in everything for row in rows), [row for row in rows if row not in everything]
    assert '"sweep": {"keys"' in everything.split("As it was given")[1], everything[-400:]


@case("a real run")
def _():
    log = home() / "work/log.jsonl"
    measure({"run.max_requests": 300, "run.duration": "60s"}, "--request-log", log)
    page = report("latest")  # which finds it
    got = measured(page, 800)[800]
    assert got["charts"] > 15 and not got["wrong"] and got["needed"] <= 800, got
    assert not screenshot(page)[2]


@case("a sweep with small charts and tables of colours, and a suite: nothing is cut, nothing scrolls, nothing is complained of")
def _():
    got = run(["sweep", write({"mode": "simulate", "tiers.nvme": None, "run.max_requests": 200, "run.duration": "60s", "sweep": {
        "keys": {"workload.users": [2, 4, 8], "tiers.gpu.capacity": ["2MiB", "4MiB"]}, "variants": {"order": {"lru": {}, "fifo": {
            "cache.eviction": "fifo"}}}}}), "--quiet"])
    assert got.rc == 0, got
    for ref in ("sweep:1", "suite:1"):
        if ref == "suite:1":
            assert run(["suite", "gpu-only", "cpu-only", *TINY, "--duration", "300ms", "--headless", "--quiet"], timeout=200).rc == 0
            ref = "suite:latest"
        page = report(ref)
        got = measured(page, 390, 1400)
        for width, one in got.items():
            assert one["charts"] >= 4 and not one["wrong"] and one["needed"] <= width, (ref, width, one)
        assert not screenshot(page)[2], ref


main()
