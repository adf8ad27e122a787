#include "record/board.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "record/metric.h"
#include "record/snapshot.h"

struct board {
    pthread_mutex_t lock; /* guards the view and the times; held for a copy */
    struct board_view now;
    uint64_t begin_ns, end_ns; /* 0: it goes on */
    atomic_bool stop;
};

struct board *board_new(void) {
    struct board *b = mem_zalloc(1, sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
    b->now.version = 1;
    b->now.head.status = RUN_RUNNING;
    b->begin_ns = clock_now_ns();
    return b;
}

void board_free(struct board *b) {
    if (!b) return;
    board_view_free(&b->now);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void board_view_free(struct board_view *v) {
    free(v->row);
    *v = (struct board_view){.rows = 0};
}

struct board_row board_row_new(const char *label) {
    struct board_row r = {.weight = 1, .x = KVF_MISSING, .line = BOARD_LINES};
    snprintf(r.label, sizeof r.label, "%s", label);
    for (unsigned m = 0; m < BOARD_MEASURES; m++) r.value[m] = KVF_MISSING;
    return r;
}

static void changed(struct board *b) {
    b->now.version++;
    pthread_mutex_unlock(&b->lock);
}

void board_head(struct board *b, const struct board_head *head) {
    pthread_mutex_lock(&b->lock);
    enum run_status status = b->now.head.status;
    b->now.head = *head;
    b->now.head.status = status;
    changed(b);
}

/* Makes room for so many rows. */
static void view_room(struct board_view *v, size_t rows) {
    if (rows <= v->cap) return;
    v->cap = rows > 2 * v->cap ? rows : 2 * v->cap;
    v->row = mem_realloc(v->row, v->cap * sizeof *v->row);
}

void board_row(struct board *b, size_t i, const struct board_row *row) {
    pthread_mutex_lock(&b->lock);
    if (i >= b->now.rows) {
        view_room(&b->now, i + 1);
        for (size_t k = b->now.rows; k < i; k++) b->now.row[k] = board_row_new("");
        b->now.rows = i + 1;
    }
    b->now.row[i] = *row;
    changed(b);
}

void board_share(struct board *b, size_t i, double share, const char *note) {
    pthread_mutex_lock(&b->lock);
    if (i < b->now.rows) {
        b->now.row[i].share = share < 0 ? 0 : share > 1 ? 1 : share;
        snprintf(b->now.row[i].note, sizeof b->now.row[i].note, "%s", note);
    }
    changed(b);
}

void board_end(struct board *b, enum run_status status, const char *sentence) {
    pthread_mutex_lock(&b->lock);
    b->now.head.status = status;
    snprintf(b->now.head.end, sizeof b->now.head.end, "%s", sentence);
    b->end_ns = clock_now_ns();
    changed(b);
}

static double gone_s(const struct board *b) {
    uint64_t until = b->end_ns ? b->end_ns : clock_now_ns();
    return (double)(until - b->begin_ns) / (double)KVF_NS_PER_S;
}

bool board_copy(struct board *b, struct board_view *v) {
    pthread_mutex_lock(&b->lock);
    bool newer = v->version != b->now.version;
    if (newer) {
        view_room(v, b->now.rows);
        if (b->now.rows > 0) memcpy(v->row, b->now.row, b->now.rows * sizeof *v->row);
        v->rows = b->now.rows;
        v->head = b->now.head;
        v->version = b->now.version;
    }
    v->gone_s = gone_s(b);
    pthread_mutex_unlock(&b->lock);
    return newer;
}

/* ---- what follows from it ---- */

static bool over(enum outcome_state s) {
    return s == OUTCOME_DONE || s == OUTCOME_FAILED || s == OUTCOME_STOPPED;
}

double board_view_share(const struct board_view *v) {
    double done = 0, all = 0;
    if (v->head.status != RUN_RUNNING) return 1;
    if (v->head.expected == 0) return KVF_MISSING;
    for (size_t i = 0; i < v->rows; i++) {
        const struct board_row *r = &v->row[i];
        all += r->weight;
        done += over(r->state) ? r->weight : r->state == OUTCOME_RUNS ? r->weight * r->share : 0;
    }
    if (v->head.expected > v->rows) all += (double)(v->head.expected - v->rows);
    return all > 0 ? done / all : KVF_MISSING;
}

double board_view_left_s(const struct board_view *v) {
    double share = board_view_share(v);
    if (v->head.status != RUN_RUNNING) return 0;
    return share > 0 ? v->gone_s * (1 - share) / share : KVF_MISSING;
}

size_t board_view_count(const struct board_view *v, enum outcome_state state) {
    size_t n = 0;
    for (size_t i = 0; i < v->rows; i++) n += v->row[i].state == state;
    return n;
}

size_t board_view_best(const struct board_view *v) {
    size_t best = SIZE_MAX;
    if (!v->head.ranked || v->head.measures == 0) return best;
    bool lower = metric_better(v->head.measure[0].name) == METRIC_LOWER;
    for (size_t i = 0; i < v->rows; i++) {
        double x = v->row[i].value[0];
        if (v->row[i].state != OUTCOME_DONE || isnan(x) || v->row[i].undone) continue;
        if (best == SIZE_MAX || (lower ? x < v->row[best].value[0] : x > v->row[best].value[0])) best = i;
    }
    return best;
}

void board_stop(struct board *b) {
    atomic_store(&b->stop, true);
}

bool board_stop_asked(const struct board *b) {
    return atomic_load(&b->stop);
}

const atomic_bool *board_stop_flag(const struct board *b) {
    return &b->stop;
}
