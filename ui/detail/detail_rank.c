#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/detail/details.h"
#include "ui/panel/columns.h"
#include "ui/panel/parts.h"

enum { HEAD, FACTS, TIERS, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [HEAD] = {.name = "rank", .line = 0, .least_cols = 20, .rows = {1, 2}, .urgency = {1, 4}},
    [FACTS] = {.name = "figures", .line = 1, .least_cols = 20, .rows = {4, 9}, .urgency = {3, 5}},
    [TIERS] = {.name = "tiers", .line = 2, .least_cols = 20, .rows = {5}, .urgency = {2}},
};

enum { TIER, FULL, USED, READ, WRITE, READ_P95, WRITE_P95, DEVICE_READ, DEVICE_WRITE, BUSY, ERRORS, COLUMNS };
static const struct column columns[COLUMNS] = {
    [TIER] = {.heading = "tier", .cols = 6, .rank = 1, .left = true},
    [FULL] = {.heading = "full", .cols = 10, .rank = 8, .most = 40, .left = true},
    [USED] = {.heading = "used/usable", .cols = 12, .rank = 7},
    [READ] = {.heading = "read", .cols = NUMBER_RATE, .rank = 2},
    [WRITE] = {.heading = "write", .cols = NUMBER_RATE, .rank = 3},
    [READ_P95] = {.heading = "r P95", .cols = NUMBER_MS, .rank = 4},
    [WRITE_P95] = {.heading = "w P95", .cols = NUMBER_MS, .rank = 5},
    [DEVICE_READ] = {.heading = "device r", .cols = NUMBER_MS + 1, .rank = 10},
    [DEVICE_WRITE] = {.heading = "device w", .cols = NUMBER_MS + 1, .rank = 11},
    [BUSY] = {.heading = "busy", .cols = NUMBER_PERCENT, .rank = 6},
    [ERRORS] = {.heading = "errors", .cols = 6, .rank = 9},
};

static void draw_tier(const struct pane *p, int row, const struct column_place *at,
                      const struct snapshot_host *h, int t) {
    const struct snapshot_rank_tier *v = &h->tier[t];
    double s = h->rank.length_s;
    char one[NUMBER], two[NUMBER], used[2 * NUMBER];
    number_short(v->used_bytes, one), number_short(v->capacity_bytes, two);
    snprintf(used, sizeof used, "%s/%s", one + strspn(one, " "), two + strspn(two, " "));
    columns_cell(p, row, &columns[TIER], at[TIER], parts_tier_tone(t), tier_name((enum kvf_tier)t));
    if (at[FULL].cols)
        graph_bar(p, row, at[FULL].col, at[FULL].cols, v->used_bytes / v->capacity_bytes, parts_tier_tone(t));
    columns_cell(p, row, &columns[USED], at[USED], TONE_NORMAL, used);
    const struct {
        int column;
        double value;
        number_fn *text;
    } cells[] = {
        {READ, v->read_bytes / s, number_rate},          {WRITE, v->write_bytes / s, number_rate},
        {READ_P95, v->read_p95_ms, number_ms},           {WRITE_P95, v->write_p95_ms, number_ms},
        {DEVICE_READ, v->read_device_p95_ms, number_ms}, {DEVICE_WRITE, v->write_device_p95_ms, number_ms},
        {BUSY, v->busy_ratio, number_percent},           {ERRORS, v->errors, number_count}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        columns_cell(p, row, &columns[cells[i].column], at[cells[i].column],
                     cells[i].column == ERRORS && v->errors > 0 ? TONE_BAD : TONE_STRONG,
                     cells[i].text(cells[i].value, one));
}

static void draw_tiers(const struct pane *p, const struct snapshot_host *h) {
    struct column_place at[COLUMNS];
    int row = 1;
    columns_place(columns, COLUMNS, p->at.cols, at);
    columns_headings(p, 0, columns, COLUMNS, at);
    for (int t = 0; t < KVF_TIERS; t++)
        if (kvf_present(h->tier[t].capacity_bytes)) draw_tier(p, row++, at, h, t);
}

static void draw_facts(const struct pane *p, const struct snapshot_host *h) {
    const struct snapshot_rank *r = &h->rank;
    struct parts_facts x = parts_facts(p);
    char text[NUMBER];
    const struct {
        const char *name;
        double value;
        number_fn *text;
    } facts[] = {{"tokens/s", r->throughput_tok_s, number_count},
                 {"users", r->users, number_count},
                 {"waiting", r->queue_depth, number_count},
                 {"in service", r->in_service, number_count},
                 {"arrived/s", r->arrived / r->length_s, number_count},
                 {"done/s", r->requests_per_s, number_count},
                 {"failed", r->failed, number_count},
                 {"errors", r->errors, number_count},
                 {"hit ratio", r->reuse_hit_ratio, number_percent},
                 {"e2e P50", r->e2e_p50_ms, number_ms},
                 {"e2e P95", r->e2e_p95_ms, number_ms},
                 {"e2e P99", r->e2e_p99_ms, number_ms},
                 {"TTFT P95", r->ttft_p95_ms, number_ms},
                 {"queue P95", r->queue_wait_p95_ms, number_ms},
                 {"storage P95", r->storage_io_p95_ms, number_ms},
                 {"generation P95", r->generation_p95_ms, number_ms},
                 {"late P99", r->lateness_p99_ms, number_ms},
                 {"host CPUs busy", r->host_cpu_ratio, number_percent},
                 {"drive busy", r->device_busy_ratio, number_percent},
                 {"memory", r->rss_bytes, number_bytes}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        parts_fact(&x, facts[i].name, TONE_STRONG, facts[i].text(facts[i].value, text));
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane p[SECTIONS];
    const struct snapshot_host *h = NULL;
    for (int s = 0; s < SECTIONS; s++) {
        p[s] = pane_at(c, at[s]);
        p[s] = pane_part(&p[s], 0, 1, -1, -1);
    }
    for (uint32_t i = 0; i < parts_hosts(f) && !h; i++)
        if (parts_host(f, i)->rank.rank == f->open.number) h = parts_host(f, i);
    int col = pane_textf(&p[HEAD], 0, 0, TONE_STRONG, "Rank %" PRIu64, f->open.number);
    if (!h) {
        pane_text(&p[HEAD], 0, col, TONE_DIM, ": no figures at this moment");
        return;
    }
    col += pane_textf(&p[HEAD], 0, col, TONE_NORMAL, " on %s%s%s", h->host, h->device[0] ? ", drive " : "",
                      h->device);
    if (h->rank.lost)
        pane_text(&p[HEAD], 0, col, TONE_BAD, ", lost");
    else if (h->rank.behind > 0)
        pane_textf(&p[HEAD], 0, col, TONE_WARN, ", %" PRIu64 " behind", h->rank.behind);
    draw_facts(&p[FACTS], h);
    draw_tiers(&p[TIERS], h);
}

const struct panel_ops detail_rank = {.name = "rank",
                                      .title = "one rank: its load, its latency, its tiers",
                                      .sections = sections,
                                      .section_count = SECTIONS,
                                      .draw = draw};
