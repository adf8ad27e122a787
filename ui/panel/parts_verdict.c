#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "record/standing.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { NARROW_COLS = 60, LABEL_COLS = 11, LABEL_NARROW = 6, TEXT = KVF_BOTTLENECK + 120 };

/* ---- sentences ---- */

/* The rows' labels, in full and where there is little room. */
enum label { LIMIT, TRY, REQUEST, LABELS };
static const char *const labels[LABELS][2] = {
    [LIMIT] = {"LIMITED BY", "LIMIT"}, [TRY] = {"TRY", "TRY"}, [REQUEST] = {"A request", "REQ"}};

static int put_label(const struct pane *p, int row, enum label l, enum tone tone) {
    bool narrow = p->at.cols < NARROW_COLS;
    pane_text(p, row, 0, tone, labels[l][narrow]);
    return narrow ? LABEL_NARROW : LABEL_COLS;
}

/* As many whole clauses as fit, and of the last one as many parts, the first one cut where it has to be. */
static void put_clauses(const struct pane *p, int row, int col, int cols, enum tone tone, const char *text) {
    char shown[TEXT];
    snprintf(shown, sizeof shown, "%s", text);
    while (canvas_text_columns(shown) > cols) {
        char *cut = strrchr(shown, ';'), *colon = strrchr(shown, ':'), *comma = strrchr(shown, ',');
        if (!cut || (colon && colon > cut)) cut = colon;
        if (cut && comma && comma > cut) cut = comma;
        if (!cut) break;
        *cut = '\0';
    }
    pane_clip(p, row, col, cols, tone, shown);
}

static void headline(const struct frame *f, char *out, size_t len) {
    struct verdict told = {.limited_by = VERDICT_LIMITS, .cause = VERDICT_CAUSES};
    if (!f->verdict && f->snap) snprintf(told.sentence, sizeof told.sentence, "%s", f->snap->bottleneck);
    verdict_headline(f->verdict ? f->verdict : &told, out, len);
    if (!out[0]) snprintf(out, len, "--");
}

static enum tone limit_tone(const struct frame *f) {
    if (!f->verdict || !f->verdict->known) return TONE_HEADING;
    if (f->verdict->limited_by == VERDICT_NONE) return TONE_GOOD;
    return f->verdict->limited_by == VERDICT_LOAD ? TONE_HEADING : TONE_BAD;
}

static void draw_limit(const struct pane *p, const struct frame *f) {
    char text[TEXT];
    int col = put_label(p, 0, LIMIT, limit_tone(f));
    headline(f, text, sizeof text);
    put_clauses(p, 0, col, p->at.cols - col, TONE_STRONG, text);
}

/* A change that is estimated to gain less than this part is not the answer. */
#define GAIN_SMALL 0.2

/* Which remedies come first: larger tiers where they are too small and that is the answer, then what helps
 * most; each change once. */
static int remedies_pick(const struct verdict *v, size_t pick[VERDICT_REMEDIES]) {
    int n = 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < v->remedies; i++) {
            bool first = v->cause == VERDICT_CAUSE_CAPACITY && strstr(v->remedy[i].change, " capacity") &&
                         verdict_gain(&v->remedy[i]) >= GAIN_SMALL;
            bool again = verdict_gain(&v->remedy[i]) < VERDICT_GAIN || first != (round == 0);
            for (int k = 0; k < n && !again; k++)
                again = strcmp(v->remedy[pick[k]].change, v->remedy[i].change) == 0;
            if (!again) pick[n++] = i;
        }
    }
    return n;
}

void parts_remedy(const struct pane *p, const struct verdict_remedy *r, int cols, char *out, size_t len) {
    static const char whole[] = "end-to-end", brief[] = "e2e";
    const char *arrow = parts_sign(p->canvas, PARTS_ARROW);
    struct verdict_remedy plain = *r;
    char *bracket = strstr(plain.change, " (");
    verdict_remedy_short(r, arrow, out, len);
    if (canvas_text_columns(out) <= cols) return;
    if (bracket) *bracket = '\0';
    verdict_remedy_short(&plain, arrow, out, len);
    char *label = strstr(out, whole);
    if (canvas_text_columns(out) > cols && label) {
        const char *rest = label + strlen(whole);
        memcpy(label, brief, strlen(brief));
        memmove(label + strlen(brief), rest, strlen(rest) + 1);
    }
    if (canvas_text_columns(out) > cols) snprintf(out, len, "%s", plain.change);
}

/* As many whole alternatives of an advice as fit. */
static void drop_alternatives(char *text, int cols) {
    while (canvas_text_columns(text) > cols) {
        char *last = strrchr(text, ',');
        if (!last) return;
        *last = '\0';
    }
}

static bool gains_little(const struct verdict *v) {
    double most = 0;
    for (size_t i = 0; i < v->remedies; i++) most = fmax(most, verdict_gain(&v->remedy[i]));
    return most < GAIN_SMALL;
}

/* Remedies as far as they fit; else, and before those that gain little, what helps in general. */
static void try_text(const struct pane *p, const struct frame *f, int cols, char *out, size_t len) {
    /* of an earlier moment of a run that has ended what would have helped it */
    bool own = f->verdict && (f->verdict->remedies > 0 || !f->over);
    const struct verdict *v = own ? f->verdict : f->over ? &f->run->verdict : NULL;
    const char *arrow = parts_sign(p->canvas, PARTS_ARROW);
    const char *told = own ? " (est.)" : " (est., run)";
    size_t pick[VERDICT_REMEDIES], used = 0;
    int n = v ? remedies_pick(v, pick) : 0, shown = 0;
    out[0] = '\0';
    if (n > 0 && gains_little(v)) {
        used = strlen(verdict_advice(v, out, len));
        shown = 1;
    }
    bool general = shown > 0;
    for (int k = 0; k < n && shown < 3; k++) {
        char one[200];
        int room = cols - canvas_text_columns(out) - (shown ? 6 : 0) - (int)strlen(told);
        parts_remedy(p, &v->remedy[pick[k]], room, one, sizeof one);
        if (shown && (canvas_text_columns(one) > room || !strstr(one, arrow))) continue;
        used += (size_t)snprintf(out + used, len - used, "%s%s", shown ? "  or  " : "", one);
        if (used >= len) return;
        shown++;
    }
    if (strstr(out, arrow))
        snprintf(out + used, len - used, "%s", told);
    else if (shown == 0 && v)
        verdict_advice(v, out, len);
    if (shown <= general) drop_alternatives(out, cols);
}

static void draw_try(const struct pane *p, int row, const struct frame *f) {
    static const char hint[] = "b evidence";
    int hint_cols = (int)sizeof hint - 1, col = put_label(p, row, TRY, TONE_HEADING);
    char text[TEXT];
    bool room = p->at.cols >= NARROW_COLS && f->view != PANEL_evidence;
    int cols = p->at.cols - col - (room ? hint_cols + 2 : 0);
    try_text(p, f, cols, text, sizeof text);
    pane_clip(p, row, col, cols, TONE_STRONG, text[0] ? text : "--");
    if (!room) return;
    int at = p->at.cols - hint_cols;
    pane_text(p, row, at, TONE_NORMAL, hint);
    pane_tone(p, row, at, 1, TONE_KEY);
    pane_hot(p, row, at, 1, hint_cols, 'b');
}

/* ---- where a request's time goes ---- */

struct piece {
    char name[24];
    double share;
    enum tone tone;
    bool shown;
};
enum { PIECES = 5 + 3 * KVF_TIERS, PERCENT_LEAST = 1 };

static void piece_add(struct piece *list, int *n, const char *name, double share, enum tone tone) {
    if (!(share * 100 >= PERCENT_LEAST) || *n == PIECES) return;
    struct piece *x = &list[(*n)++];
    *x = (struct piece){.share = share, .tone = tone, .shown = true};
    snprintf(x->name, sizeof x->name, "%s", name);
}

static void pieces_of_tier(struct piece *list, int *n, const struct verdict *v, int t) {
    static const char *const where[3] = {"line", "device", "host"};
    const char *tier = tier_name((enum kvf_tier)t);
    int before = *n;
    char name[48];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_%s_share", tier, where[i]);
        double share = verdict_value(v, name);
        snprintf(name, sizeof name, "%s %s", tier, where[i]);
        piece_add(list, n, name, share, parts_tier_tone(t));
    }
    if (*n == before + 1) snprintf(list[before].name, sizeof list[before].name, "%s", tier);
}

static int pieces_of(const struct verdict *v, struct piece *list) {
    int n = 0;
    double rest = 1;
    piece_add(list, &n, "queue", verdict_value(v, "queue_wait_share"), TONE_SECOND);
    double batch = verdict_value(v, "batch_wait_share"), waits = batch > 0 ? batch : 0;
    piece_add(list, &n, "wait for batch", waits, TONE_SECOND);
    piece_add(list, &n, "compute", verdict_value(v, "compute_share") - waits, TONE_ACCENT);
    piece_add(list, &n, "wait for room", verdict_value(v, "room_wait_share"), TONE_THIRD);
    for (int t = 0; t < KVF_TIERS; t++) pieces_of_tier(list, &n, v, t);
    for (int i = 0; i < n; i++) rest -= list[i].share;
    piece_add(list, &n, "rest", rest, TONE_DIM);
    return n;
}

/* Of an interval without a verdict: its means say how much of it is storage, and not of which tier. */
static double interval_pieces(const struct frame *f, struct piece *list, int *n) {
    const struct snapshot_interval *i = f->snap ? &f->snap->interval : NULL;
    double e2e_ms = i ? i->e2e_mean_ms : KVF_MISSING, rest = 1;
    if (!(e2e_ms > 0)) return e2e_ms;
    piece_add(list, n, "queue", i->queue_wait_mean_ms / e2e_ms, TONE_SECOND);
    piece_add(list, n, "compute", i->generation_mean_ms / e2e_ms, TONE_ACCENT);
    piece_add(list, n, "storage", fmin(i->storage_io_mean_ms / e2e_ms, 1), TONE_THIRD);
    for (int k = 0; k < *n; k++) rest -= list[k].share;
    piece_add(list, n, "rest", rest, TONE_DIM);
    return e2e_ms;
}

static int piece_text(const struct piece *x, char *out, size_t len) {
    snprintf(out, len, "%s %.0f %%", x->name, 100 * fmin(x->share, 1));
    return canvas_text_columns(out);
}

/* Leaves out the smallest until the names have room and the bars some; returns the columns of the bars. */
static int pieces_fit(struct piece *list, int n, int cols) {
    enum { BARS_LEAST = 8 };
    for (;;) {
        int need = 0, least = -1, shown = 0;
        char text[40];
        for (int i = 0; i < n; i++) {
            if (!list[i].shown) continue;
            need += piece_text(&list[i], text, sizeof text) + 2 + (shown++ > 0);
            if (least < 0 || list[i].share < list[least].share) least = i;
        }
        if (need + BARS_LEAST <= cols || shown <= 1) return cols - need;
        list[least].shown = false;
    }
}

/* A bar without a track, in eighths of a column. */
static int piece_bar(const struct pane *p, int row, int col, double cols, enum tone tone) {
    bool ascii = p->canvas->style.ascii;
    int eighths = (int)(cols * 8 + 0.5), used = 0;
    if (eighths < 1) eighths = 1;
    for (; eighths > 0; eighths -= 8, used++) {
        int here = eighths < 8 ? eighths : 8;
        pane_glyph(p, row, col + used, tone, ascii ? '#' : 0x2590 - (uint32_t)here);
    }
    return used;
}

static void draw_request(const struct pane *p, int row, const struct frame *f) {
    struct piece list[PIECES];
    char text[40];
    int col = put_label(p, row, REQUEST, TONE_HEADING), n = 0;
    double e2e_ms = f->verdict ? verdict_value(f->verdict, "e2e_mean_ms") : interval_pieces(f, list, &n);
    const char *mean = number_ms(e2e_ms, text);
    col += pane_text(p, row, col, TONE_STRONG, mean + strspn(mean, " ")) + 2;
    if (!kvf_present(e2e_ms)) return;
    if (f->verdict) n = pieces_of(f->verdict, list);
    int bars = pieces_fit(list, n, p->at.cols - col);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += list[i].shown ? list[i].share : 0;
    for (int i = 0, shown = 0; i < n; i++) {
        if (!list[i].shown) continue;
        if (shown++) col++;
        piece_text(&list[i], text, sizeof text);
        col += pane_clip(p, row, col, p->at.cols - col, TONE_NORMAL, text);
        col++;
        if (bars > 0 && col < p->at.cols)
            col += piece_bar(p, row, col, fmin(list[i].share / sum * bars, p->at.cols - col), list[i].tone);
    }
}

/* ---- all of it ---- */

int parts_warnings(const struct pane *p, int row, const struct frame *f) {
    const struct snapshot_interval *i = f->snap ? &f->snap->interval : NULL;
    char text[STANDING_TEXT + 40], undone[STANDING_TEXT];
    int used = 0;
    for (size_t k = 0; f->verdict && k < f->verdict->warnings; k++) {
        snprintf(text, sizeof text, "! %s", f->verdict->warning[k]);
        used += pane_wrap(p, row + used, TONE_WARN, text);
    }
    if (parts_whole_run(f) && standing_run_undone(f->run, undone)[0]) {
        snprintf(text, sizeof text, "! throughput not comparable: %s", undone);
        used += pane_wrap(p, row + used, TONE_BAD, text);
    }
    if (!parts_whole_run(f) && i && i->fell_through + i->refused > 0) {
        snprintf(text, sizeof text,
                 "! no room: %" PRIu64 " writes fell through to a lower tier, %" PRIu64 " were refused",
                 i->fell_through, i->refused);
        used += pane_wrap(p, row + used, i->refused ? TONE_BAD : TONE_WARN, text);
    }
    if (!parts_whole_run(f) && i && i->not_admitted > 0) {
        snprintf(text, sizeof text, "! not admitted: cache.admission kept %" PRIu64 " write%s out",
                 i->not_admitted, i->not_admitted == 1 ? "" : "s");
        used += pane_wrap(p, row + used, TONE_WARN, text);
    }
    return used;
}

void parts_verdict(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    if (pane_empty(&body)) return;
    draw_limit(&body, f);
    if (body.at.rows > 1) draw_try(&body, 1, f);
    if (body.at.rows > 2) draw_request(&body, 2, f);
}
