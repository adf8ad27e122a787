#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "draw/escape.h"
#include "draw/svg.h"
#include "page/doc_inside.h"

/* The state of the page under way. */
struct page {
    const struct doc *doc;
    struct buf *out;
    unsigned depth;    /* sections open */
    enum doc_kind run; /* of the blocks that make one list; DOC_SECTION: none */
    bool small;        /* those of charts */
    bool folded;
    unsigned section, plot; /* numbers of the next ones */
};

static const char *tone_name(enum doc_tone tone) {
    static const char *const names[] = {
        [DOC_PLAIN] = "plain", [DOC_GOOD] = "good", [DOC_WARN] = "warn", [DOC_BAD] = "bad"};
    return names[tone];
}

/* An element with a text; `attributes` with a space before them. */
static void element(struct page *p, const char *name, const char *attributes, const char *text) {
    buf_addf(p->out, "<%s%s>", name, attributes);
    escape_xml(text, p->out);
    buf_addf(p->out, "</%s>", name);
}

static const struct {
    enum doc_kind kind;
    const char *open, *close;
} lists[] = {{DOC_FACT, "<dl class=\"facts\">\n", "</dl>\n"},
             {DOC_TILE, "<dl class=\"tiles\">\n", "</dl>\n"},
             {DOC_PLOT, "<div class=\"plots\">\n", "</div>\n"}};

/* Closes the list that the last block was in unless this one continues it, and opens its own. Small charts
 * have lists of their own. */
static void list_turn(struct page *p, enum doc_kind kind, bool small) {
    if (kind == p->run && small == p->small) return;
    p->small = small;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (lists[i].kind == p->run) buf_add(p->out, lists[i].close);
    p->run = DOC_SECTION;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (lists[i].kind == kind) {
            buf_add(p->out, small ? "<div class=\"plots small\">\n" : lists[i].open);
            p->run = kind;
        }
}

static void sections_close(struct page *p, unsigned level) {
    for (; p->depth >= level && p->depth > 0; p->depth--) buf_add(p->out, "</section>\n");
}

static void put_section(struct page *p, const struct doc_block *b) {
    char heading[] = "h2";
    sections_close(p, b->level);
    while (p->depth + 1 < b->level) { /* a level was left out */
        buf_add(p->out, "<section>\n");
        p->depth++;
    }
    heading[1] = (char)('1' + b->level);
    buf_addf(p->out, "<section id=\"s%u\" class=\"level%u\">", p->section++, b->level);
    p->depth++;
    element(p, heading, "", b->title);
    buf_add(p->out, "\n");
}

/* The look of a cell; a long text may be broken anywhere, so that no table grows with it. */
static void put_class(struct page *p, const struct doc_cell *cell, bool number) {
    enum { LONG = 32 };
    struct buf names = {0};
    if (number) buf_add(&names, " num");
    if (cell->tone) buf_addf(&names, " %s", tone_name(cell->tone));
    if (cell->text && strlen(cell->text) > LONG) buf_add(&names, " long");
    if (names.len) buf_addf(p->out, " class=\"%s\"", names.data + 1);
    buf_free(&names);
}

/* Opens what a cell links to, if it does. */
static bool link_open(struct page *p, const struct doc_cell *cell) {
    struct buf target = {0};
    if (cell->run > 0 && p->doc->stem) doc_run_page(p->doc->stem, cell->run, &target);
    for (size_t i = 0, section = 0; cell->section && i < p->doc->blocks && !target.len; i++) {
        const struct doc_block *b = &p->doc->block[i];
        if (b->kind != DOC_SECTION) continue;
        if (strcmp(b->title, cell->text) == 0) buf_addf(&target, "#s%zu", section);
        section++;
    }
    bool linked = target.len > 0;
    if (linked) {
        buf_add(p->out, "<a href=\"");
        escape_xml(buf_text(&target), p->out);
        buf_add(p->out, "\">");
    }
    buf_free(&target);
    return linked;
}

enum { CARD_COLUMNS = 3 };

static void put_row(struct page *p, const struct doc_block *b, size_t from) {
    buf_add(p->out, "<tr>");
    for (size_t c = 0; c < b->columns; c++) {
        const struct doc_cell *cell = from + c < b->cells ? &b->cell[from + c] : &(struct doc_cell){0};
        buf_add(p->out, c ? "<td" : "<th scope=\"row\"");
        put_class(p, cell, b->numbers[c]);
        if (c && b->columns > CARD_COLUMNS &&
            *b->column[c]) { /* what a narrow screen, where rows are cards, says */
            buf_add(p->out, " data-of=\"");
            escape_xml(b->column[c], p->out);
            buf_add(p->out, "\"");
        }
        buf_add(p->out, ">");
        bool linked = link_open(p, cell);
        escape_xml(cell->text ? cell->text : "--", p->out);
        buf_addf(p->out, "%s%s", linked ? "</a>" : "", c ? "</td>" : "</th>");
    }
    buf_add(p->out, "</tr>\n");
}

static void put_table(struct page *p, const struct doc_block *b) {
    if (b->columns == 0) return;
    buf_add(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    escape_xml(*b->title ? b->title : "figures", p->out);
    buf_add(p->out, b->columns > CARD_COLUMNS ? "\"><table class=\"cards\">" : "\"><table>");
    if (*b->title) element(p, "caption", "", b->title);
    buf_add(p->out, "<thead><tr>");
    for (size_t c = 0; c < b->columns; c++)
        element(p, *b->column[c] ? "th" : "td",
                !*b->column[c]  ? ""
                : b->numbers[c] ? " scope=\"col\" class=\"num\""
                                : " scope=\"col\"",
                b->column[c]);
    buf_add(p->out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < b->cells; i += b->columns) put_row(p, b, i);
    buf_add(p->out, "</tbody></table></div>\n");
}

/* Names for where those at the ends of the lines are out of sight: narrow screens. */
static void put_key(struct page *p, const struct plot *plot) {
    if (plot->lines < 2 || plot->kind == PLOT_BARS || plot->kind == PLOT_HEAT) return;
    buf_add(p->out, "<ul class=\"key\" aria-hidden=\"true\">");
    for (size_t k = 0; k < plot->lines; k++) {
        buf_add(p->out, "<li>");
        svg_key(&plot->line[k], p->out);
        escape_xml(plot->line[k].name, p->out);
        buf_add(p->out, "</li>");
    }
    buf_add(p->out, "</ul>\n");
}

/* How to read it, and how a long line is drawn. */
static void put_caption(struct page *p, const struct plot *plot) {
    size_t most = 0;
    struct buf text = {0};
    buf_add(&text, plot->caption);
    for (size_t k = 0; k < plot->lines; k++)
        if (plot->line[k].count > most && !plot->line[k].dots) most = plot->line[k].count;
    if (most > 2 * SVG_PARTS && (plot->kind == PLOT_LINES || plot->kind == PLOT_STACK))
        buf_addf(&text, "%s%zu points in %d parts: the mean of each%s.", text.len ? " " : "", most, SVG_PARTS,
                 plot->kind == PLOT_LINES ? ", in a band from the least to the most" : "");
    if (text.len) element(p, "figcaption", "", buf_text(&text));
    buf_free(&text);
}

static void put_plot(struct page *p, const struct plot *plot) {
    char id[24];
    struct doc_block table;
    snprintf(id, sizeof id, "p%u", p->plot++);
    buf_addf(p->out, "<figure id=\"%s\"%s>", id,
             plot->kind == PLOT_HEAT && plot->categories > 8 ? " class=\"wide\"" : "");
    char heading[] = "h2";
    heading[1] = (char)('2' + p->depth); /* below that of its section */
    element(p, heading, "", plot->title);
    put_key(p, plot);
    buf_add(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    escape_xml(plot->title, p->out);
    buf_add(p->out, "\">");
    svg_plot(plot, id, p->doc->script, p->out);
    buf_add(p->out, "</div>");
    put_caption(p, plot);
    buf_add(p->out, "<details><summary>Figures</summary>\n");
    doc_plot_table(plot, &table);
    put_table(p, &table);
    doc_block_free(&table);
    buf_add(p->out, "</details></figure>\n");
}

static void put_tile(struct page *p, const struct doc_block *b) {
    buf_add(p->out, "<div>");
    element(p, "dt", "", b->title);
    element(p, "dd", " class=\"value\"", b->text);
    if (*b->note) element(p, "dd", "", b->note);
    buf_add(p->out, "</div>\n");
}

static void put_fact(struct page *p, const struct doc_block *b) {
    buf_add(p->out, "<div>");
    element(p, "dt", "", b->title);
    element(p, "dd", "", b->text);
    buf_add(p->out, "</div>\n");
}

static void put_verdict(struct page *p, const struct doc_block *b) {
    buf_addf(p->out, "<p class=\"verdict %s\">", tone_name(b->tone));
    element(p, "strong", "", b->title);
    buf_add(p->out, " ");
    element(p, "span", "", b->text);
    buf_add(p->out, "</p>\n");
}

static void put_text(struct page *p, const struct doc_block *b) {
    buf_addf(p->out, "<p class=\"%s\">", tone_name(b->tone));
    escape_xml(b->text, p->out);
    buf_add(p->out, "</p>\n");
}

static void put_block(struct page *p, const struct doc_block *b) {
    list_turn(p, b->kind, b->kind == DOC_PLOT && b->plot->small);
    switch (b->kind) {
    case DOC_SECTION:
        put_section(p, b);
        break;
    case DOC_TEXT:
        put_text(p, b);
        break;
    case DOC_VERDICT:
        put_verdict(p, b);
        break;
    case DOC_FACT:
        put_fact(p, b);
        break;
    case DOC_TILE:
        put_tile(p, b);
        break;
    case DOC_TABLE:
        put_table(p, b);
        break;
    case DOC_PLOT:
        put_plot(p, b->plot);
        break;
    case DOC_CODE:
        element(p, "pre", " tabindex=\"0\"", b->text);
        buf_add(p->out, "\n");
        break;
    case DOC_FOLD:
        buf_add(p->out, "<details class=\"fold\">");
        element(p, "summary", "", b->title);
        buf_add(p->out, "\n");
        break;
    case DOC_FOLD_END:
        buf_add(p->out, "</details>\n");
        break;
    }
}

static const char style[] =
    "*{box-sizing:border-box}"
    "html{color-scheme:light dark;-webkit-text-size-adjust:100%;text-size-adjust:100%}"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
    "header,main,footer,nav{max-width:1400px;margin:0 auto;padding:0 1.25rem}"
    "header{padding-top:1.5rem}h1{font-size:1.7rem;line-height:1.2;margin:0}"
    "header p{color:var(--soft);margin:.3rem 0 0}"
    "h1,h2,h3,h4,h5,p,dd,dt,td,th,summary,caption,figcaption{overflow-wrap:anywhere;unicode-bidi:isolate}"
    "h2{font-size:1.35rem;margin:2.2rem 0 .8rem;padding-top:.6rem;border-top:1px solid var(--rule)}"
    "h3{font-size:1.08rem;margin:1.6rem 0 .6rem}h4{font-size:1rem;margin:1rem 0 .4rem}"
    ".live .key{display:flex}.live .key li{cursor:pointer}.live .key li[aria-pressed=false]{opacity:.45;text-decoration:line-through}"
    ".live .plot{touch-action:pan-y}.live .plot .h{pointer-events:none}.live .plot[data-x]{cursor:crosshair}.zoomed .ticks,.zoomed .phases text{display:none}"
    ".plot .band{fill-opacity:.7;pointer-events:none}.said{min-height:2.5em;margin:0;font-size:.8rem;line-height:1.25;white-space:pre-wrap;"
    "color:var(--soft);font-variant-numeric:tabular-nums}.reset{font:inherit;font-size:.82rem}.sorts{cursor:pointer}"
    ".sorts[aria-sort=ascending]::after{content:\" \\2191\"}.sorts[aria-sort=descending]::after{content:\" \\2193\"}\n"
    "a{color:var(--k0)}nav{padding-top:.9rem}nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;"
    "margin:0;padding:0;font-size:.9rem}\n"
    "p{margin:.5rem 0;max-width:76rem}"
    ".verdict{font-size:1.05rem;border-left:6px solid var(--soft);background:var(--box);padding:.7rem 1rem}"
    ".verdict strong{margin-right:.6rem;letter-spacing:.02em}"
    ".verdict.good{border-color:var(--k2)}.verdict.warn{border-color:var(--k4)}.verdict.bad{border-color:var(--k1)}"
    "p.warn,p.bad,p.good{border-left:4px solid var(--k4);padding:.1rem 0 .1rem .8rem}p.bad{border-color:var(--k1)}"
    "p.good{border-color:var(--k2)}td.good{color:var(--k2)}td.bad{color:var(--k1)}td.warn{color:var(--k4)}"
    "td.good,td.bad,td.warn{font-weight:600}\n"
    "dl{margin:.8rem 0}dd{margin:0}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr));gap:.15rem 1.5rem}"
    ".facts div{display:grid;grid-template-columns:9rem 1fr;gap:.6rem;padding:.2rem 0;border-bottom:1px solid "
    "var(--rule)}.facts dt{color:var(--soft)}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));gap:.7rem}"
    ".tiles div{background:var(--box);border:1px solid var(--rule);border-radius:6px;padding:.6rem .8rem}"
    ".tiles dt{color:var(--soft);font-size:.85rem}.tiles dd{color:var(--soft);font-size:.82rem}"
    ".tiles .value{color:var(--ink);font-size:1.35rem;line-height:1.3;font-weight:600;"
    "font-variant-numeric:tabular-nums}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,34rem),1fr));gap:1.4rem 2rem;margin:1rem 0}"
    ".plots.small{grid-template-columns:repeat(auto-fill,minmax(min(100%,23rem),1fr))}"
    "figure h3,figure h4,figure h5{font-size:.95rem;margin:0 0 .2rem}figure{margin:0;min-width:0}figure.wide{grid-column:1/-1}figcaption{color:var(--soft);font-size:.85rem}"
    "figure .scroll{overflow-x:auto}"
    ".key{display:none;flex-wrap:wrap;gap:0 1rem;list-style:none;margin:.2rem 0;padding:0;font-size:.82rem;color:var(--soft)}"
    ".key svg{display:inline-block;vertical-align:middle;width:26px;height:10px;margin-right:.35rem}figure details{font-size:.85rem;color:var(--soft)}\n"
    ".scroll{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0;"
    "font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--soft);padding-bottom:.3rem;"
    "font-size:.9rem}th,td{padding:.28rem .7rem;text-align:left;border-bottom:1px solid var(--rule);"
    "vertical-align:top;overflow-wrap:normal}td{min-width:3.5rem}thead td,thead th{border-bottom:2px solid var(--soft);"
    "vertical-align:bottom}"
    "tbody th{font-weight:500;min-width:8rem;position:sticky;left:0;background:var(--page)}tbody th.num{min-width:0}.num{text-align:right;white-space:nowrap}"
    "pre{background:var(--box);border:1px solid var(--rule);border-radius:6px;padding:.8rem 1rem;overflow-x:auto;"
    "font:.83rem/1.45 ui-monospace,monospace;margin:.6rem 0}summary{cursor:pointer;padding:.25rem 0}"
    "td.long,th.long{overflow-wrap:anywhere;min-width:13rem;white-space:normal}.fold{margin:.8rem 0}.fold summary{font-weight:600}"
    "footer{color:var(--soft);font-size:.85rem;padding-top:2rem;padding-bottom:2rem}\n"
    "@media (max-width:600px){body{font-size:15px}.key{display:flex}.names{display:none}figure .scroll{overflow:hidden}"
    ".plot[data-x]{width:var(--wide);max-width:none}pre{white-space:pre-wrap;overflow-wrap:anywhere}.scroll{overflow:visible}"
    ".cards,.cards tbody,.cards tr,.cards caption{display:block}.cards thead{display:none}.cards tr{padding:.3rem 0;border-bottom:1px solid var(--rule)}"
    ".cards th,.cards td{display:flex;justify-content:space-between;gap:1rem;border:0;padding:.08rem 0;position:static;text-align:right;white-space:normal;overflow-wrap:anywhere}"
    ".cards th{font-weight:600;text-align:left}.cards td::before{content:attr(data-of);color:var(--soft);text-align:left;font-weight:400}header,main,footer,nav{padding-left:.8rem;padding-right:.8rem}"
    ".tiles{grid-template-columns:repeat(2,1fr)}.facts div{grid-template-columns:7.5rem 1fr}tbody th{min-width:6.5rem}td{min-width:0}td.long,th.long{min-width:0}th,td{padding:.25rem .5rem;overflow-wrap:anywhere}}\n"
    "@media print{.said,.reset{display:none}.live .key{display:none}@page{margin:14mm}body{font-size:10pt}nav{display:none}header,main,footer{max-width:none;padding:0}"
    "h2,h3,h4,h5{break-after:avoid}figure,tr,.tiles div,.verdict,.facts div{break-inside:avoid}thead{display:table-header-group}"
    ".level1+.level1{break-before:auto}.scroll,pre{overflow:visible}pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".plots{display:block}.plots.small{display:grid;grid-template-columns:1fr 1fr}figure{margin-bottom:1rem}figure .scroll .plot{min-width:0;max-width:17cm}figure details{display:none}tbody th{position:static;background:none}"
    ".level1>h2+p,.level2>h3+p{break-after:avoid}th,td{padding:.2rem .5rem}td{min-width:0}thead th.num{white-space:normal}tbody th,tbody td{white-space:nowrap}tbody .long{white-space:normal}"
    "caption{break-inside:avoid}caption::after{content:\"\";display:block;height:6rem;margin-bottom:-6rem}"
    "summary{list-style:none}.fold:has(pre)::details-content{display:block;content-visibility:visible}"
    ".fold:not([open]):not(:has(pre))>summary::after{content:\" (folded away: open it, then print)\"}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

static void put_contents(struct page *p) {
    unsigned section = 0, shown = 0;
    for (size_t i = 0; i < p->doc->blocks; i++)
        shown += p->doc->block[i].kind == DOC_SECTION && p->doc->block[i].level == 1;
    if (shown < 2) return;
    buf_add(p->out, "<nav aria-label=\"Contents\"><ul>\n");
    for (size_t i = 0; i < p->doc->blocks; i++) {
        const struct doc_block *b = &p->doc->block[i];
        if (b->kind != DOC_SECTION) continue;
        unsigned number = section++;
        if (b->level != 1) continue;
        buf_addf(p->out, "<li><a href=\"#s%u\">", number);
        escape_xml(b->title, p->out);
        buf_add(p->out, "</a></li>\n");
    }
    buf_add(p->out, "</ul></nav>\n");
}

static const char script_open[] = "//<![CDATA[\n", script_close[] = "//]]>\n"; /* it is XML as well */

/* The name of the script in the policy: the base64 of the SHA-256 of all that stands in its element. */
static void put_hash(struct buf *out) {
    struct buf text = {0};
    unsigned char hash[EVP_MAX_MD_SIZE], base64[2 * EVP_MAX_MD_SIZE];
    unsigned len = 0;
    buf_addf(&text, "%s%s%s", script_open, page_script, script_close);
    if (EVP_Digest(text.data, text.len, hash, &len, EVP_sha256(), NULL) != 1)
        len = 0; /* then it does not run */
    EVP_EncodeBlock(base64, hash, (int)len);
    buf_addf(out, "; script-src 'sha256-%s'", (const char *)base64);
    buf_free(&text);
}

/* The policy lets the page fetch nothing and run nothing but its script, whatever a name in it may hold. */
static void put_head(struct page *p) {
    buf_add(p->out, "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head>\n"
                    "<meta charset=\"utf-8\"/>\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'");
    if (p->doc->script) put_hash(p->out);
    buf_add(p->out, "\"/>\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                    "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                    "<meta name=\"generator\" content=\"kvfall\"/>\n"
                    "<link rel=\"icon\" href=\"data:,\"/>\n");
    element(p, "title", "", p->doc->title);
    buf_addf(p->out, "\n<style>\n%s%s</style></head>\n<body>\n<header>", svg_style(), style);
    element(p, "h1", "", p->doc->title);
    if (*p->doc->subtitle) element(p, "p", "", p->doc->subtitle);
    buf_add(p->out, "</header>\n");
}

void doc_page(const struct doc *d, const struct format_style *format_style, struct buf *out) {
    struct page p = {.doc = d, .out = out, .run = DOC_SECTION};
    (void)format_style; /* of the terminal */
    put_head(&p);
    put_contents(&p);
    buf_add(out, "<main>\n");
    for (size_t i = 0; i < d->blocks; i++) put_block(&p, &d->block[i]);
    list_turn(&p, DOC_SECTION, false);
    sections_close(&p, 1);
    buf_add(out, "</main>\n");
    if (d->script) buf_addf(out, "<script>%s%s%s</script>\n", script_open, page_script, script_close);
    buf_add(out, "</body></html>\n");
}
