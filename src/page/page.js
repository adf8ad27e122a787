(function () {
"use strict";
var doc = document, svgs = Array.from(doc.querySelectorAll("svg[data-x]")), cursor = null, view = {};

/* An axis of a chart: data-x has its ends, its edges in the picture, whether it is logarithmic, its unit, and how
   much of that the unit is which stands beside the axis; 0: none does. */
function axis(svg) {
  var part = svg.getAttribute("data-x").split(" ");
  return {low: +part[0], high: +part[1], left: +part[2], right: +part[3], top: +part[4], bottom: +part[5],
          log: part[6] === "log", unit: part[7], told: +part[8]};
}
/* The other one: ends, whether it is logarithmic, unit. Heights go from its top down. */
function upright(svg) {
  var part = svg.getAttribute("data-y").split(" ");
  return {low: +part[0], high: +part[1], left: 1, right: 0, log: part[2] === "log", unit: part[3], told: 0};
}
function place(a, v) {
  var part = a.log ? Math.log(v / a.low) / Math.log(a.high / a.low) : (v - a.low) / (a.high - a.low);
  return a.left + part * (a.right - a.left);
}
function value(a, x) {
  var part = (x - a.left) / (a.right - a.left);
  return a.log ? a.low * Math.pow(a.high / a.low, part) : a.low + part * (a.high - a.low);
}
function clock(s, fine) {
  var whole = Math.floor(s), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, rest = whole % 60;
  var text = (h ? h + ":" + String(m).padStart(2, "0") : m) + ":" + String(rest).padStart(2, "0");
  return fine ? text + (s - whole).toFixed(2).slice(1) : text;
}
/* Names of units, how many make the next one, and from where on it is that one's turn. */
var ladders = {
  ms: [["ns", 1000, 999.5], ["us", 1000, 999.5], ["ms", 1000, 999.5], ["s", 60, 999.5], ["min", 60, 99.95], ["h"]],
  B: [["B", 1024, 1023.5], ["KiB", 1024, 999.5], ["MiB", 1024, 999.5], ["GiB", 1024, 999.5], ["TiB", 1024, 999.5], ["PiB"]],
  count: [["", 1000, 999.5], ["k", 1000, 999.5], ["M", 1000, 999.5], ["G", 1000, 999.5], ["T"]]
};
function label(a, v, step) {
  if (a.unit === "clock") return clock(v, step < 1);
  if (a.unit === "P") return "P" + +(100 - 100 / v).toPrecision(6);
  if (a.told) return String(+(v / a.told).toPrecision(4));
  if (a.unit === "%") return +(100 * v).toPrecision(4) + " %";
  var rungs = ladders[a.unit] || [[a.unit]], n = 0;
  if (a.unit === "ms") v *= 1e6;
  for (; v >= rungs[n][2]; n++) v /= rungs[n][1];
  return (+v.toPrecision(4) + " " + rungs[n][0]).trim();
}
/* A value to as many digits as its place on the axis is known to, at most three. */
function exact(a, v) {
  var step = a.log ? v * Math.log(a.high / a.low) / parts : (a.high - a.low) / parts, by, n = 0;
  function digits(x, size) { return x ? x.toPrecision(Math.min(Math.max(Math.floor(Math.log10(Math.abs(x) * size / step)), 1), 3)) : "0"; }
  if (a.unit === "P") return label(a, v);
  if (a.unit === "clock") {
    var near = Math.round(v);
    if (10 > v && Math.abs(v - near) > Math.max(0.05, step)) return +digits(v, 1) + " s";
    return clock(near, false);
  }
  if (a.unit === "%") return (100 * v).toFixed(step > 0.0005 ? 0 : 1) + " %";
  if (a.unit === "GiB/s" || a.unit === "1/s") return v.toFixed(v >= 1000 ? 0 : 2) + " " + a.unit;
  var own = ladders[a.unit], rungs = own || ladders.count, size = a.unit === "ms" ? 1e-6 : 1;
  if (!own && (a.unit ? 1e3 : 1e5) > v && step >= Math.abs(v - Math.round(v))) return (Math.round(v) + " " + a.unit).trim();
  for (v /= size; Math.abs(v) >= rungs[n][2]; n++) { v /= rungs[n][1]; size *= rungs[n][1]; }
  by = digits(v, size);
  by = by.indexOf("e") > 0 ? String(+by) : by; /* 4e+1 */
  return (own ? by + " " + rungs[n][0] : by + rungs[n][0] + " " + a.unit).trim();
}
function range(a, low, high) {
  var one = exact(a, low), two = exact(a, high), unit = two.indexOf(" ");
  if (one === two) return one;
  return (unit > 0 && one.endsWith(two.slice(unit)) ? one.slice(0, one.indexOf(" ")) : one) + " to " + two;
}
function make(name, attributes, parent) {
  var e = doc.createElementNS(name === "button" || name === "p" ? doc.documentElement.namespaceURI : "http://www.w3.org/2000/svg", name);
  Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
  parent.appendChild(e);
  return e;
}

/* An element of the page's own, under the picture of a chart. */
function below(figure, name, attributes) {
  var e = make(name, attributes, figure);
  figure.insertBefore(e, figure.querySelector(".scroll").nextSibling);
  return e;
}

/* ---- charts that share an axis: those over run time ---- */

/* The names of a chart's lines, from its legend. A chart of one line has no legend: its strips name the line. */
function names(svg, figure) {
  var key = Array.from(figure.querySelectorAll(".key li")), strip = svg.querySelector(".h title");
  var lone = strip && /\n(.*): /.exec(strip.textContent);
  return key.length ? key.map(function (li) { return li.textContent; }) : [lone ? lone[1] : ""];
}
var charts = svgs.map(function (svg) {
  var a = axis(svg), figure = svg.closest("figure");
  return {svg: svg, a: a, y: upright(svg), names: names(svg, figure), now: Object.assign({}, a), data: Array.from(svg.querySelectorAll(".d")), long: Array.from(svg.querySelectorAll("[data-fine]")), strips: Array.from(svg.querySelectorAll(".h rect")), figure: figure, id: figure.id,
          line: make("path", {"class": "t cursor"}, svg), said: below(figure, "p", {"class": "said"}), reset: null, band: null, drag: null};
});
function is_whole(c) { return c.now.low === c.a.low && c.now.high === c.a.high; }
function group(c) { return c.a.unit === "clock" ? "clock" : c.id; }
function together(c) { return charts.filter(function (o) { return group(o) === group(c); }); }

/* The strip of a value says what all lines have there. */
function strip_at(c, v) {
  var x = place(c.a, v), found = null;
  c.strips.forEach(function (r) {
    var left = +r.getAttribute("x");
    if (x >= left && left + +r.getAttribute("width") >= x) found = r;
  });
  return found && found.querySelector("title").textContent.split("\n");
}
/* In a zoom the points in a hundredth of it, or the nearest ones. */
function part_at(c, v) {
  var at = place(c.a, v), left = place(c.a, c.now.low), right = place(c.a, c.now.high), reach = Infinity, ends = [Infinity, -Infinity];
  if (!c.points) c.points = line_points(c);
  var shown = c.points.map(function (l) { return l.filter(function (p) { return p[0] >= left && right >= p[0]; }); });
  shown.forEach(function (l) { l.forEach(function (p) { reach = Math.min(reach, Math.abs(p[0] - at)); }); });
  reach = Math.max(reach, (right - left) / 200);
  var said = shown.map(function (l, k) {
    var low = Infinity, high = -Infinity;
    l.forEach(function (p) {
      if (Math.abs(p[0] - at) > reach) return;
      low = Math.min(low, p[1]);
      high = Math.max(high, p[2]);
      ends = [Math.min(ends[0], p[0]), Math.max(ends[1], p[0])];
    });
    return low > high ? "" : (c.names[k] ? c.names[k] + ": " : "") + range(c.y, low, high);
  }).filter(Boolean);
  return said.length ? [range(c.a, value(c.a, ends[0]), value(c.a, ends[1]))].concat(said) : null;
}
function say(c, v) {
  var inside = v !== null && v >= c.now.low && c.now.high >= v;
  var told = !inside ? null : is_whole(c) ? strip_at(c, v) : part_at(c, v);
  c.line.setAttribute("d", inside ? "M" + place(c.now, v).toFixed(1) + " " + c.a.top + "V" + c.a.bottom : "");
  c.said.textContent = told ? told.join("   ") : "";
}
function point(c, v) {
  cursor = v;
  together(c).forEach(function (o) { say(o, v); });
}

/* ---- zoom ---- */

function steps(a) {
  var all = [];
  if (a.log) {
    for (var ten = Math.pow(10, Math.floor(Math.log10(a.low))); a.high >= ten; ten *= 10) [1, 2, 5].forEach(function (m) {
      if (ten * m >= a.low && a.high >= ten * m) all.push([ten * m, ten]);
    });
    return all;
  }
  var width = a.high - a.low, step = Math.pow(10, Math.floor(Math.log10(width / 5)));
  [2, 5, 10].forEach(function (m) { if (width / step > 7 && width / (step * m) >= 2.5) step *= m; });
  if (a.unit === "clock") step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].find(
    function (s) { return 7 >= width / s; }) || step;
  for (var v = Math.ceil(a.low / step) * step; a.high >= v && 20 > all.length; v += step) all.push([v, step]);
  return all;
}
/* Heights and places are parts of their axis in three digits. data-v has the points of a line, place and height. A long
   line has data-fine, parts finer than its picture: where they begin and end, then of each the heights of the least,
   the mean and the most. Those in view take the place of the picture's own. */
var letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_", parts = 0x3ffff;
function three(text, at) {
  return (letters.indexOf(text[at]) * 4096 + letters.indexOf(text[at + 1]) * 64 + letters.indexOf(text[at + 2])) / parts;
}
function fine_parts(path) {
  var told = path.getAttribute("data-fine").split(" "), text = told[2], all = [], from = +told[0], count = 0;
  for (var at = 0; text.length > at; count++) {
    if (text[at] === ".") { at++; continue; }
    if (text[at] === "!") { at++; all.push([count]); continue; }
    all.push([count, three(text, at), three(text, at + 3), three(text, at + 6)]);
    at += 9;
  }
  all.forEach(function (part) { part[0] = from + (part[0] + 0.5) / count * (told[1] - from); });
  return all;
}
/* Of each line its points: place, least and most. */
function line_points(c) {
  return Array.from(c.svg.querySelectorAll(".d [data-k]")).map(function (g) {
    var text = g.getAttribute("data-v") || "", path = g.querySelector("[data-fine]"), all = [];
    for (var at = 0; text.length > at; at += 6) {
      var y = value(c.y, three(text, at + 3));
      all.push([c.a.left + three(text, at) * (c.a.right - c.a.left), y, y]);
    }
    if (path) fine_parts(path).forEach(function (part) {
      if (1 === part.length) return;
      var least = value(c.y, part[3]), most = value(c.y, part[1]), own = part[0];
      if (path.classList.contains("b")) least = most = value(c.y, part[2]) - value(c.y, part[1]);
      all.push([own, Math.min(least, most), Math.max(least, most)]);
    });
    return all;
  });
}
function refine(c, path, whole, left, right) {
  var line = path.nextElementSibling, band = "", means = "", alone = "", upper = [], lower = [];
  if (!path.fine) {
    path.fine = fine_parts(path).map(function (part) {
      return part.map(function (v, i) { return i ? c.a.top + v * (c.a.bottom - c.a.top) : v; });
    });
    var dots = line.nextElementSibling, kind = path.getAttribute("class").replace("w", "q");
    if (!dots || dots.getAttribute("class") !== kind) {
      dots = make("path", {"class": kind, d: ""}, line.parentNode);
      line.after(dots);
    }
    path.dots = dots;
    path.own = [path.getAttribute("d"), line.getAttribute("d"), dots.getAttribute("d")];
  }
  function close() {
    if (upper.length) band += "M" + upper.concat(lower.reverse()).join("L") + "z";
    if (1 === upper.length) alone += means.slice(means.lastIndexOf("M")) + "h.01";
    upper = [];
    lower = [];
  }
  if (!whole) path.fine.forEach(function (part, i) {
    var next = path.fine[i + 1], before = path.fine[i - 1];
    if (next && left > next[0] || before && before[0] > right) return;
    if (1 === part.length) { close(); return; }
    means += (upper.length ? "L" : "M") + part[0].toFixed(3) + " " + part[2].toFixed(1);
    upper.push(part[0].toFixed(3) + " " + part[3].toFixed(1));
    lower.push(part[0].toFixed(3) + " " + part[1].toFixed(1));
  });
  close();
  path.setAttribute("d", whole ? path.own[0] : band);
  line.setAttribute("d", whole ? path.own[1] : means);
  path.dots.setAttribute("d", whole ? path.own[2] : alone);
}
function draw(c) {
  var whole = is_whole(c), left = place(c.a, c.now.low), right = place(c.a, c.now.high), scale = (c.a.right - c.a.left) / (right - left);
  c.data.forEach(function (e) {
    e.setAttribute("transform", whole ? "" : "translate(" + (c.a.left - left * scale) + ",0) scale(" + scale + ",1)");
  });
  c.long.forEach(function (path) { refine(c, path, whole, left, right); });
  c.svg.querySelectorAll(".e").forEach(function (e) { /* what happened at a time */
    var v = +e.getAttribute("data-at");
    e.setAttribute("transform", "translate(" + (place(c.now, v) - place(c.a, v)) + ",0)");
    e.style.display = v >= c.now.low && c.now.high >= v ? "" : "none";
  });
  c.svg.classList.toggle("zoomed", !whole);
  c.svg.querySelectorAll(".made").forEach(function (e) { e.remove(); });
  if (!whole) steps(c.now).forEach(function (s) {
    var x = place(c.now, s[0]);
    make("path", {"class": "g made", d: "M" + x.toFixed(1) + " " + c.a.top + "V" + (c.a.bottom + 4)}, c.svg);
    make("text", {"class": "made", x: x.toFixed(1), y: c.a.bottom + 17, "text-anchor": "middle"}, c.svg).textContent = label(c.a, s[0], s[1]);
  });
  if (!c.reset) {
    c.reset = below(c.figure, "button", {"class": "reset", type: "button"});
    c.reset.textContent = "Whole range";
    c.reset.addEventListener("click", function () { zoom(c, c.a.low, c.a.high); remember(c); });
  }
  c.reset.hidden = whole;
}
function zoom(c, low, high) {
  together(c).forEach(function (o) {
    o.now.low = Math.max(low, o.a.low);
    o.now.high = Math.min(high, o.a.high);
    var all = low === c.a.low && high === c.a.high; /* what no other chart reaches goes back to its own */
    if (all || !(o.now.high > o.now.low)) Object.assign(o.now, {low: o.a.low, high: o.a.high});
    draw(o);
  });
}

/* ---- links: #p3, #p3@90, #p3@90:60-120 ---- */

function remember(c) {
  var text = c.id + (cursor === null ? "" : "@" + +cursor.toPrecision(6)) +
             (is_whole(c) ? "" : ":" + +c.now.low.toPrecision(6) + "-" + +c.now.high.toPrecision(6));
  history.replaceState(null, "", "#" + text);
}
function go() {
  var m = /^#(p[0-9]+)(?:@([0-9.e+-]+?))?(?::([0-9.e+]+)-([0-9.e+]+))?$/.exec(decodeURIComponent(location.hash));
  var c = m ? charts.find(function (o) { return o.id === m[1]; }) : null;
  if (!c) return;
  if (m[3]) zoom(c, +m[3], +m[4]);
  if (m[2]) point(c, +m[2]);
  c.figure.scrollIntoView({block: "center"});
}

charts.forEach(function (c) {
  function at(event) {
    var box = c.svg.getBoundingClientRect(), width = c.svg.viewBox.baseVal.width;
    var x = (event.clientX - box.left) * width / box.width;
    return value(c.now, Math.min(Math.max(x, c.a.left), c.a.right));
  }
  c.svg.addEventListener("pointermove", function (event) {
    var v = at(event);
    point(c, v);
    if (c.drag !== null) {
      var from = place(c.now, c.drag), to = place(c.now, v);
      c.band.setAttribute("x", Math.min(from, to));
      c.band.setAttribute("width", Math.abs(to - from));
    }
  });
  c.svg.addEventListener("pointerdown", function (event) {
    if (event.button || event.pointerType === "touch") return;
    event.preventDefault();
    c.drag = at(event);
    if (!c.band) c.band = make("rect", {"class": "s band", y: c.a.top, height: c.a.bottom - c.a.top}, c.svg);
    c.band.setAttribute("width", 0);
    c.svg.setPointerCapture(event.pointerId);
  });
  c.svg.addEventListener("pointerup", function (event) {
    if (c.drag === null && event.pointerType !== "touch") return;
    var v = at(event), from = c.drag === null ? v : c.drag;
    if (c.band) c.band.setAttribute("width", 0);
    c.drag = null;
    if (Math.abs(place(c.now, v) - place(c.now, from)) > 6) zoom(c, Math.min(from, v), Math.max(from, v));
    cursor = v;
    remember(c);
  });
  c.svg.addEventListener("pointerleave", function () { if (c.drag === null) point(c, null); });
  c.svg.addEventListener("dblclick", function () { zoom(c, c.a.low, c.a.high); remember(c); });
});

/* ---- series ---- */

doc.querySelectorAll("figure .key li").forEach(function (item) {
  var figure = item.closest("figure"), number = Array.from(item.parentNode.children).indexOf(item);
  item.closest("ul").removeAttribute("aria-hidden");
  item.setAttribute("role", "button");
  item.setAttribute("tabindex", "0");
  item.setAttribute("aria-pressed", "true");
  function turn() {
    var shown = item.getAttribute("aria-pressed") !== "true";
    item.setAttribute("aria-pressed", String(shown));
    figure.querySelectorAll("[data-k='" + number + "']").forEach(function (e) { e.style.display = shown ? "" : "none"; });
  }
  item.addEventListener("click", turn);
  item.addEventListener("keydown", function (event) {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); }
  });
});
doc.documentElement.classList.add("live");

/* ---- tables ---- */

var units = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
             KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776};
function number(text) {
  var m = /^([+-]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*([A-Za-z]*)/.exec(text);
  return m ? parseFloat(m[1].split(",").join("")) * (units[m[2]] || 1) : NaN;
}
function compare(a, b) {
  var x = number(a), y = number(b);
  if (isNaN(x) && isNaN(y)) return a.localeCompare(b);
  return isNaN(x) ? 1 : isNaN(y) ? -1 : x - y;
}
doc.querySelectorAll("table").forEach(function (table) {
  var body = table.tBodies[0];
  if (!body || 3 > body.rows.length) return;
  Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
    head.setAttribute("tabindex", "0");
    head.classList.add("sorts");
    function sort() {
      var down = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
      var rows = Array.from(body.rows);
      function text(row) { return row.cells[column] ? row.cells[column].textContent : ""; }
      rows.sort(function (a, b) {
        var x = text(a), y = text(b);
        if (x === "--" || y === "--") return (x === "--") - (y === "--");
        return down * compare(x, y);
      });
      rows.forEach(function (row) { body.appendChild(row); });
      Array.from(table.tHead.rows[0].cells).forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down > 0 ? "ascending" : "descending");
    }
    head.addEventListener("click", sort);
    head.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
  });
});

addEventListener("hashchange", go);
go();
})();
