#include "ui/panel/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/format.h"
#include "draw/number.h"
#include "ui/keyboard.h"
#include "ui/panel/panels.h"

enum { NARROW_COLS = 60 };

/* ---- header ---- */

struct state {
    const char *name;
    enum tone tone;
};

const char *parts_status(enum run_status status, enum tone *tone) {
    enum format_tone of;
    const char *word = format_status(status, &of);
    *tone = of == FORMAT_GOOD ? TONE_STATE_GOOD : of == FORMAT_BAD ? TONE_STATE_BAD : TONE_STATE_WARN;
    return word;
}

static struct state state_when_over(const struct frame *f) {
    struct state s;
    s.name = parts_status(f->run->status, &s.tone);
    return f->run->status == RUN_RUNNING ? (struct state){"ENDED", TONE_STATE_WARN} : s;
}

/* An earlier moment, and its phase where that is not what is measured. */
static struct state state_when_back(const struct frame *f) {
    static const char *const names[2][KVF_RUN_PHASES] = {
        {"LOOKING BACK: PREPARING", "LOOKING BACK: WARM-UP", "LOOKING BACK", "LOOKING BACK: DRAINING"},
        {"FROZEN: PREPARING", "FROZEN: WARM-UP", "FROZEN", "FROZEN: DRAINING"}};
    uint64_t phase = f->snap ? f->snap->interval.phase : KVF_PHASE_MEASURED;
    return (struct state){names[f->frozen][phase < KVF_RUN_PHASES ? phase : KVF_PHASE_MEASURED],
                          TONE_STATE_WARN};
}

/* The slowest tier whose device hangs; NULL: none. */
static const char *hung_tier(const struct frame *f) {
    static const char *const names[KVF_TIERS] = {"GPU HUNG", "CPU HUNG", "NVME HUNG", "REMOTE HUNG"};
    for (int t = KVF_TIERS; f->snap && t-- > 0;)
        if (f->snap->tier_on[t] && f->snap->tier[t].hung_s > 0) return names[t];
    return NULL;
}

static struct state state_of(const struct frame *f) {
    const struct snapshot_interval *i = f->snap ? &f->snap->interval : NULL;
    if (f->frozen || f->back) return state_when_back(f);
    if (f->over) return state_when_over(f);
    if (f->status->storing) return (struct state){"STORING", TONE_STATE_WARN};
    if (f->status->stalled) return (struct state){"STALLED", TONE_STATE_BAD};
    if (hung_tier(f) && !i->paused) return (struct state){hung_tier(f), TONE_STATE_BAD};
    if (parts_preparing(f)) return (struct state){"PREPARING", TONE_STATE_WARN};
    if (i->paused) return (struct state){"PAUSED", TONE_STATE_WARN};
    if (i->phase == KVF_PHASE_WARMUP) return (struct state){"WARM-UP", TONE_STATE_WARN};
    if (i->phase == KVF_PHASE_DRAIN) return (struct state){"DRAINING", TONE_STATE_WARN};
    return (struct state){"RUNNING", TONE_STATE_GOOD};
}

/* Intervals below a second have tenths, so that each has a time of its own. */
static void clock_of(const struct frame *f, const char *slash, char *out, size_t len) {
    char now[NUMBER + 2], planned[NUMBER];
    double tenths = floor(f->shown_s * 10 + 1e-2);
    bool fine = f->interval_s > 0 && f->interval_s < 1 && tenths >= 0;
    number_clock(fine ? floor(tenths / 10) : f->shown_s, now);
    if (fine) snprintf(now + strlen(now), 3, ".%d", (int)fmod(tenths, 10));
    if (f->planned_s > 0)
        snprintf(out, len, "%s%s%s", now, slash, number_clock(f->planned_s, planned));
    else
        snprintf(out, len, "%s", now);
}

/* Nothing for a real run, which most are; "simulate x60 real 0:42", "simulate max x1.20k real 0:42": the
 * speed asked for or, where it goes as fast as it can, the one it has gone at. */
static const char *mode_of(const struct frame *f, char *out, size_t len) {
    const struct snapshot *snap = f->snap;
    char factor[NUMBER], real[NUMBER];
    if (!snap || !snap->simulated) return strcmp(f->run->mode, "real") == 0 ? "" : f->run->mode;
    bool free = !(snap->speed > 0);
    double ran = snap->interval.t_s > 0 && snap->real_s > 0 ? snap->interval.t_s / snap->real_s : KVF_MISSING;
    number_count(free ? ran : snap->speed, factor);
    snprintf(out, len, "%s %sx%s real %s", f->run->mode, free ? "max " : "", factor + strspn(factor, " "),
             number_clock(snap->real_s, real));
    return out;
}

/* The run in words; the least important part is left out first. Returns the column behind it. */
static int header_name(const struct pane *p, const struct frame *f, int col, int end) {
    const struct run_record *r = f->run;
    char id[48] = "", dot[8], mode[80];
    int used = r->run_id > 0 ? snprintf(id, sizeof id, "run %" PRId64, r->run_id) : 0;
    if (r->trial)
        snprintf(id + used, sizeof id - (size_t)used, "%strial %u/%u", used ? ", " : "", r->trial, r->trials);
    const char *part[] = {r->name, r->model, mode_of(f, mode, sizeof mode), id};
    static const int orders[2][4] = {{0, 3, 2, 1}, {0, 2, 3, 1}}; /* real time is more than a number */
    const int *order = orders[part[2] == mode];
    bool shown[4] = {false};
    int need = -3, room = end - col - canvas_text_columns(r->name) - 3;

    if (part[2] == mode && canvas_text_columns(mode) > room) part[2] += strlen(r->mode) + 1;
    if (part[2] != r->mode && canvas_text_columns(part[2]) > room) part[2] = r->mode;
    snprintf(dot, sizeof dot, " %s ", parts_sign(p->canvas, PARTS_DOT));
    for (size_t k = 0; k < 4; k++) {
        int more = canvas_text_columns(part[order[k]]) + 3;
        if (k > 0 && need + more > end - col) break;
        shown[order[k]] = part[order[k]][0];
        if (shown[order[k]]) need += more;
    }
    bool first = true;
    for (size_t k = 0; k < 4; k++) {
        if (!shown[k]) continue;
        if (!first) col += pane_text(p, 0, col, TONE_TITLE, dot);
        col += pane_clip(p, 0, col, end - col, TONE_TITLE, part[k]);
        first = false;
    }
    return col;
}

/* How far the run is, and how long it still takes: run time, which a simulation does not keep to. */
static void header_progress(const struct pane *p, const struct frame *f, int col, int end) {
    enum { BAR_LEAST = 6, BAR_MOST = 20, GAP = 2 };
    char left[NUMBER + 16], clock[NUMBER];
    double rest_s = f->planned_s - f->newest_s;
    if (f->over || f->back || !(f->planned_s > 0) || !(f->newest_s >= 0) || !(rest_s >= 0)) return;
    snprintf(left, sizeof left, "%s left", number_clock(rest_s, clock));
    int need = canvas_text_columns(left) + GAP;
    if (end - col >= need + BAR_LEAST + 2 * GAP) end = pane_right(p, 0, end, TONE_TITLE, left) - GAP;
    int cols = end - col - GAP;
    if (cols < BAR_LEAST) return;
    if (cols > BAR_MOST) cols = BAR_MOST;
    graph_bar(p, 0, end - cols, cols, f->newest_s / f->planned_s, TONE_ACCENT); /* reversed it is a hole */
}

void parts_header(const struct pane *p, const struct frame *f) {
    struct state s = state_of(f);
    char clock[2 * NUMBER + 8];
    int cols = p->at.cols;

    if (pane_empty(p)) return;
    pane_fill(p, TONE_TITLE, ' ');
    bool narrow = cols < NARROW_COLS;
    clock_of(f, narrow ? "/" : " / ", clock, sizeof clock);
    int end = pane_right(p, 0, cols - 1, s.tone, s.name) - (narrow ? 1 : 2);
    if (!narrow) pane_tone(p, 0, end + 1, cols - end - 1, s.tone);
    end = pane_right(p, 0, end, TONE_TITLE, clock) - (narrow ? 1 : 2);
    /* The program's own name makes room for that of the run. */
    int name = canvas_text_columns(f->run->name) + 9 <= end ? 9 : 1;
    if (name > 1) pane_text(p, 0, 1, TONE_TITLE, "kvfall");
    int used = name;
    if (end > name + 2) used = header_name(p, f, name, end);
    header_progress(p, f, used, end);
}

/* ---- footer: keys ---- */

struct hint {
    char key[16];
    char label[32];
    int code, second; /* of a pair like +/-; 0 */
    int rank;         /* 1 is the last to go */
    bool selected;    /* the view shown */
    bool tabs;        /* each character of the key is one; code is that of the view shown */
    int cols;         /* 0: no room */
};
enum { HINTS = 32, HINT_GAP = 2, WIDE_COLS = 150, SENTENCE_LEAST = 40 };
struct hints {
    struct hint hint[HINTS];
    int count;
};

static const struct key_entry *key_of(enum action a) {
    for (size_t i = 0; i < keyboard_count; i++)
        if (keyboard[i].action == a) return &keyboard[i];
    return NULL;
}

static struct hint *hint_add(struct hints *h, enum action a, int rank, const char *label) {
    const struct key_entry *k = key_of(a);
    if (!k || h->count == HINTS) return NULL;
    struct hint *x = &h->hint[h->count++];
    *x = (struct hint){.code = k->code, .rank = rank};
    snprintf(x->key, sizeof x->key, "%s", k->name);
    snprintf(x->label, sizeof x->label, "%s", label);
    return x;
}

static void hint_pair(struct hints *h, enum action a, enum action b, int rank, const char *key,
                      const char *label) {
    const struct key_entry *second = key_of(b);
    struct hint *x = hint_add(h, a, rank, label);
    if (!x || !second) return;
    x->second = second->code;
    snprintf(x->key, sizeof x->key, "%s", key);
}

/* The ranks of a run over several and the pods of a fleet have views where there are any. */
static bool view_offered(const struct frame *f, int v) {
    if (v == PANEL_hosts) return parts_hosts(f) > 0;
    return v <= PANEL_log || (v == PANEL_pods && f->interval && f->interval->pod_rows > 0);
}

static void hints_of_views(struct hints *h, const struct frame *f, bool wide) {
    if (!wide) {
        struct hint *x = &h->hint[h->count++];
        *x = (struct hint){.rank = 3, .label = "views", .tabs = true};
        for (int v = 0, n = 0; v <= PANEL_pods; v++) {
            if (!view_offered(f, v)) continue;
            x->key[n++] = (char)panels_key((size_t)v);
            if ((size_t)v == f->view) x->code = panels_key((size_t)v);
        }
        return;
    }
    for (int v = 0; v <= PANEL_pods; v++) {
        if (!view_offered(f, v)) continue;
        struct hint *x = &h->hint[h->count++];
        *x = (struct hint){.code = panels_key((size_t)v), .rank = 3, .selected = (size_t)v == f->view};
        snprintf(x->key, sizeof x->key, "%c", panels_key((size_t)v));
        snprintf(x->label, sizeof x->label, "%s", panels[v]->name);
    }
}

static void hints_of_run(struct hints *h, const struct frame *f) {
    bool paused = f->snap && f->snap->interval.paused && !f->back;
    if (!f->controls) return;
    hint_add(h, ACTION_PAUSE, 4, paused ? "go on" : "pause");
    if (!parts_open_loop(f)) {
        hint_pair(h, ACTION_USERS_MORE, ACTION_USERS_LESS, 5, "+/-", "users");
        hint_add(h, ACTION_AUTOSCALER, 9, "autoscaler");
    }
    if (f->snap && f->snap->simulated)
        hint_pair(h, ACTION_SPEED_HALVE, ACTION_SPEED_DOUBLE, 6, "</>", "speed");
    hint_add(h, ACTION_MARK, 7, "mark");
    hint_add(h, ACTION_GENERATION, 12, "generation");
}

static void hints_of_picture(struct hints *h, const struct frame *f, const char *time_keys) {
    const struct panel_ops *v = panels[f->view];
    bool graphs = f->view != PANEL_requests && f->view < PANEL_log;
    char zoom[32], window[32];

    if (v->sort_columns) hint_add(h, ACTION_SORT, 8, "sort");
    if (v->list && f->view <= PANEL_log) hint_add(h, ACTION_FILTER, 9, "filter");
    hint_pair(h, ACTION_BACK, ACTION_FORWARD, f->controls && !f->back ? 8 : 6, time_keys, "time");
    if (f->back) {
        const struct key_entry *k = key_of(f->frozen ? ACTION_FREEZE : ACTION_LAST);
        if (k) hint_add(h, k->action, 4, "newest");
    }
    if (f->back || !f->controls) hint_add(h, ACTION_GO_TO, 11, "go to a time");
    snprintf(zoom, sizeof zoom, "zoom: %s", zoom_name(f->zoom));
    if (graphs) hint_add(h, ACTION_ZOOM_OUT, 10, zoom);
    snprintf(window, sizeof window, "window: %s", windows_name(f->span));
    if (!parts_whole_run(f)) hint_add(h, ACTION_WINDOW, 6, window);
    if (!f->back) hint_add(h, ACTION_FREEZE, 13, "freeze");
    hint_add(h, ACTION_SAVE, 14, "save");
}

/* By rank as far as there is room; the first that does not fit ends it. */
static void hints_fit(struct hints *h, int room) {
    room += HINT_GAP;
    for (int rank = 1; rank <= 14; rank++) {
        for (int i = 0; i < h->count; i++) {
            struct hint *x = &h->hint[i];
            int need = canvas_text_columns(x->key) + (x->label[0] ? 1 : 0) + canvas_text_columns(x->label) +
                       HINT_GAP;
            if (x->rank != rank) continue;
            if (need > room) return;
            x->cols = need - HINT_GAP;
            room -= need;
        }
    }
}

static void hints_draw(const struct pane *p, const struct hints *h, int col) {
    for (int i = 0; i < h->count; i++) {
        const struct hint *x = &h->hint[i];
        if (x->cols == 0) continue;
        int key = canvas_text_columns(x->key);
        pane_text(p, 0, col, TONE_KEY, x->key);
        pane_text(p, 0, col + key + 1, TONE_NORMAL, x->label);
        if (x->selected) pane_tone(p, 0, col, x->cols, TONE_SELECTED);
        if (!x->tabs) pane_hot(p, 0, col, 1, x->cols, x->code);
        for (int k = 0; x->tabs && x->key[k]; k++) {
            if (x->key[k] == x->code) pane_tone(p, 0, col + k, 1, TONE_SELECTED);
            pane_hot(p, 0, col + k, 1, 1, x->key[k]);
        }
        /* Of a pair the second key's part is behind the stroke. */
        if (x->second) pane_hot(p, 0, col + key - (key - 1) / 2, 1, (key - 1) / 2, x->second);
        col += x->cols + HINT_GAP;
    }
}

static void footer_keys(const struct pane *p, const struct frame *f) {
    struct hints h = {.count = 0};
    hints_of_views(&h, f, p->at.cols >= WIDE_COLS);
    hints_of_run(&h, f);
    hints_of_picture(&h, f, parts_sign(p->canvas, PARTS_LEFT_RIGHT));
    if (f->view == PANEL_requests && f->detail && !f->open.kind && f->snap && f->snap->requests > 0)
        hint_add(&h, ACTION_OPEN, 2, "user");
    if (f->open.kind)
        hint_add(&h, ACTION_CLOSE, 2, "back");
    else if (f->view == PANEL_evidence)
        hint_add(&h, ACTION_EVIDENCE, 2, "back");
    hint_add(&h, ACTION_HELP, 2, f->view == PANEL_help ? "back" : "keys");
    if (f->inside) hint_add(&h, ACTION_CLOSE, 2, "back");
    hint_add(&h, ACTION_QUIT, 1, f->controls || f->inside ? "quit" : "leave");
    hints_fit(&h, p->at.cols - 2);
    hints_draw(p, &h, 1);
}

/* ---- footer: the verdict ---- */

/* A figure with its label, where it has room as a whole; returns the column behind it. */
static int verdict_figure(const struct pane *p, int col, int end, const char *label, const char *figure,
                          const char *unit) {
    char text[64];
    figure += strspn(figure, " ");
    snprintf(text, sizeof text, "%s%s%s", figure, unit[0] ? " " : "", unit);
    int need = canvas_text_columns(label) + (label[0] ? 1 : 0) + canvas_text_columns(text);
    if (col + need > end) return col;
    if (label[0]) col += pane_text(p, 0, col, TONE_DIM, label) + 1;
    return col + pane_text(p, 0, col, TONE_STRONG, text) + 2;
}

static void draw_verdict(const struct pane *p, const struct frame *f, int end) {
    const struct run_record *r = f->run;
    const char *name = run_status_name(r->status);
    char figure[NUMBER];
    /* The header has it as well. */
    if (canvas_text_columns(name) > end - 1) return;
    int col = 1 + pane_text(p, 0, 1, state_when_over(f).tone, name) + 2;
    bool why = r->status != RUN_COMPLETED && r->status_reason[0];
    if (!why || p->at.cols >= WIDE_COLS) {
        col = verdict_figure(p, col, end, "",
                             number_count(result_value(&r->results, "throughput_tok_s"), figure), "tok/s");
        col = verdict_figure(p, col, end, "e2e P95",
                             number_ms(result_value(&r->results, "e2e_p95_ms"), figure), "");
        col = verdict_figure(p, col, end, "hits",
                             number_percent(result_value(&r->results, "reuse_hit_ratio"), figure), "");
        col = verdict_figure(p, col, end, "with decode",
                             number_percent(result_value(&r->results, "hit_ratio"), figure), "");
    }
    const char *sentence = why ? r->status_reason : r->verdict.sentence;
    if (end - col > (why ? 8 : SENTENCE_LEAST)) pane_clip(p, 0, col, end - col, TONE_NORMAL, sentence);
}

/* The keys that work then at the right, and how it ended in the room that they leave. */
static void footer_verdict(const struct pane *p, const struct frame *f) {
    struct hints h = {.count = 0};
    int end = p->at.cols - 1, cols = -HINT_GAP;

    hints_of_views(&h, f, false);
    h.hint[0].label[0] = '\0'; /* figures need the room more */
    hint_pair(&h, ACTION_BACK, ACTION_FORWARD, 4, parts_sign(p->canvas, PARTS_LEFT_RIGHT), "time");
    hint_add(&h, ACTION_HELP, 2, f->view == PANEL_help ? "back" : "keys");
    hint_add(&h, ACTION_QUIT, 1, "leave");
    hints_fit(&h, end - 1);
    for (int i = 0; i < h.count; i++)
        if (h.hint[i].cols) cols += h.hint[i].cols + HINT_GAP;
    if (cols < 0) cols = 0;
    hints_draw(p, &h, end - cols);
    draw_verdict(p, f, end - cols - HINT_GAP);
}

/* ---- footer: what is asked ---- */

static void footer_question(const struct pane *p, const struct frame *f) {
    int cols = p->at.cols;
    int col = 1 + pane_clip(p, 0, 1, cols - 2, TONE_KEY, f->question);
    const char *answer = f->answer ? f->answer : "";
    struct pane room = pane_part(p, 0, col, 1, cols - 1 - col);
    /* The end of a long answer is what is being typed. */
    int used = canvas_text_columns(answer);
    if (used <= room.at.cols)
        pane_text(&room, 0, 0, TONE_STRONG, answer);
    else
        pane_right(&room, 0, used = room.at.cols, TONE_STRONG, answer);
    pane_tone(p, 0, col + used, 1, TONE_SELECTED);
}

void parts_footer(const struct pane *p, const struct frame *f) {
    if (pane_empty(p)) return;
    if (f->question)
        footer_question(p, f);
    else if (f->over && !f->back)
        footer_verdict(p, f);
    else
        footer_keys(p, f);
}

void parts_message(const struct pane *p, const struct frame *f) {
    if (pane_empty(p) || !f->message) return;
    int cols = canvas_text_columns(f->message) + 2;
    if (cols > p->at.cols) cols = p->at.cols;
    struct pane box = pane_part(p, 0, 0, 1, cols);
    pane_fill(&box, TONE_SELECTED, ' ');
    pane_clip(&box, 0, 1, cols - 2, TONE_SELECTED, f->message);
}

void parts_too_small(const struct pane *p, const struct frame *f) {
    struct state s = state_of(f);
    char text[120], clock[2 * NUMBER + 8];
    if (pane_empty(p)) return;
    clock_of(f, "/", clock, sizeof clock);
    snprintf(text, sizeof text, "%dx%d needed, is %dx%d: %s %s", LAYOUT_LEAST_COLS, LAYOUT_LEAST_ROWS,
             p->at.cols, p->at.rows, clock, s.name);
    pane_clip(p, 0, 0, p->at.cols, TONE_WARN, text);
}
