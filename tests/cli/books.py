"""Workbooks that kvfall writes, for the test scripts: their sheets as cells, without a library."""
import io
import re
import zipfile
from xml.etree import ElementTree

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class Sheet:
    """The cells of a sheet: {(row, column): value}, both from 0; a text is a str, a number a float."""

    def __init__(self, text):
        self.root = ElementTree.fromstring(text)
        self.cells, self.styles = {}, {}
        for cell in self.root.iter(MAIN + "c"):
            letters, row = re.fullmatch(r"([A-Z]+)(\d+)", cell.get("r")).groups()
            column = 0
            for letter in letters:
                column = column * 26 + ord(letter) - 64
            assert cell.find(MAIN + "f") is None, "a formula in %s" % cell.get("r")
            at, kind = (int(row) - 1, column - 1), cell.get("t")
            if kind == "inlineStr":
                self.cells[at] = "".join(cell.find(MAIN + "is").itertext())
            elif kind == "b":
                self.cells[at] = cell.find(MAIN + "v").text == "1"
            else:
                assert kind is None, (kind, cell.get("r"))
                self.cells[at] = float(cell.find(MAIN + "v").text)
            self.styles[at] = cell.get("s")

    def row(self, label):
        """{column: value} of the row that begins with this text."""
        found = [at[0] for at, value in self.cells.items() if at[1] == 0 and value == label]
        assert len(found) == 1, (label, found)
        return {at[1]: value for at, value in self.cells.items() if at[0] == found[0] and at[1] > 0}

    def table(self):
        """The rows below the heading, as {heading: value}."""
        heads = {at[1]: value for at, value in self.cells.items() if at[0] == 0}
        last = max(at[0] for at in self.cells)
        return [{heads[c]: self.cells[r, c] for c in heads if (r, c) in self.cells} for r in range(1, last + 1)]


def read(data):
    """{name: Sheet} of a workbook, in its order, and the files in it."""
    book = zipfile.ZipFile(io.BytesIO(data))
    assert book.testzip() is None
    names = [sheet.get("name") for sheet in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(MAIN + "sheet")]
    for name in book.namelist():
        ElementTree.fromstring(book.read(name))
    return {name: Sheet(book.read("xl/worksheets/sheet%d.xml" % n)) for n, name in enumerate(names, 1)}, book


def same(got, value):
    """Equal but for the 17th digit of a number: a sheet has 16, and spreadsheets use 15."""
    if isinstance(got, float) and isinstance(value, (int, float)):
        return abs(got - value) <= 1e-15 * abs(value)
    return got == value
