#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/parts.h"

/* Figures of the server behind the remote tier, and the requests sent to it. */

enum {
    SERVER_NAME,
    SERVER_MEMORY,
    SERVER_EVICTED,
    SERVER_OPS,
    SERVER_HITS,
    SERVER_LOOKUP,
    SERVER_LOST,
    SERVER_TRIPS,
    SERVER_CONNECTIONS,
    SERVER_COLUMNS
};
static const struct column server_columns[SERVER_COLUMNS] = {
    [SERVER_NAME] = {.heading = "Server", .cols = 8, .rank = 1, .most = 13, .left = true},
    [SERVER_MEMORY] = {.heading = "memory", .cols = 9, .rank = 2},
    [SERVER_EVICTED] = {.heading = "evicted/s", .cols = 9, .rank = 4},
    [SERVER_OPS] = {.heading = "cmds/s", .cols = 6, .rank = 6},
    [SERVER_HITS] = {.heading = "its hits", .cols = 8, .rank = 7},
    [SERVER_LOOKUP] = {.heading = "lookup P95", .cols = 10, .rank = 3},
    [SERVER_LOST] = {.heading = "lost/s", .cols = 6, .rank = 5},
    [SERVER_TRIPS] = {.heading = "trips/s", .cols = 7, .rank = 8},
    [SERVER_CONNECTIONS] = {.heading = "conns", .cols = 5, .rank = 9},
};

/* The figures are those of the newest interval, whatever the rest of the view is about. */
static double per_second(const struct frame *f, double n) {
    double length_s = f->snap->interval.length_s;
    return length_s > 0 ? n / length_s : KVF_MISSING;
}

void parts_server(const struct pane *p, const struct frame *f) {
    struct column_place at[SERVER_COLUMNS];
    if (pane_empty(p) || !f->snap) return;
    const struct snapshot_remote *r = &f->snap->remote;
    columns_place(server_columns, SERVER_COLUMNS, p->at.cols, at);
    columns_headings(p, 0, server_columns, SERVER_COLUMNS, at);
    const char *const texts[SERVER_COLUMNS] = {
        "remote",
        number_bytes(r->server_used_bytes, (char[NUMBER]){0}),
        number_count(per_second(f, r->server_evicted_keys), (char[NUMBER]){0}),
        number_count(r->server_ops_per_s, (char[NUMBER]){0}),
        number_percent(r->server_hit_ratio, (char[NUMBER]){0}),
        number_ms(r->lookup_p95_ms, (char[NUMBER]){0}),
        number_count(per_second(f, r->lost), (char[NUMBER]){0}),
        number_count(per_second(f, r->round_trips), (char[NUMBER]){0}),
        number_count(r->connections, (char[NUMBER]){0}),
    };
    for (int i = 0; i < SERVER_COLUMNS; i++) {
        enum tone tone = i == SERVER_NAME                                ? TONE_REMOTE
                         : i == SERVER_LOST && r->lost > 0               ? TONE_WARN
                         : i == SERVER_CONNECTIONS && r->connections < 1 ? TONE_BAD
                                                                         : TONE_NORMAL;
        columns_cell(p, 1, &server_columns[i], at[i], tone, texts[i]);
    }
}
