"""Pages that `kvfall report` writes, for the test scripts: what holds of each of them, and what stands on it."""
import re
import xml.etree.ElementTree as ElementTree

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> "q" \'s\' ]]> &amp; | `c` **b** [x](http://evil) \x1b[31m\u202eRTL\u200f\nline'
ELEMENTS = {"html", "head", "meta", "link", "title", "style", "body", "header", "nav", "main", "section", "h1", "h2", "h3",
            "h4", "p", "strong", "span", "ul", "li", "a", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody",
            "tr", "th", "td", "figure", "figcaption", "details", "summary", "pre"}
SHAPES = {"svg", "title", "desc", "path", "rect", "circle", "text", "g"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "rel", "href", "id", "class", "tabindex", "role",
              "aria-hidden", "aria-label", "aria-labelledby", "scope", "d", "x", "y", "width", "height", "cx", "cy", "r", "viewBox",
              "text-anchor", "fill-opacity", "pointer-events"}


def page(text):
    """The page as a tree, if it is well-formed XML of known elements that fetches and runs nothing."""
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
