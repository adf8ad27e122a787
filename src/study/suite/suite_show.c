#include <stdio.h>
#include <string.h>

#include "study/signals.h"
#include "study/suite/suite.h"

/* Figures of other models are no better or worse. */
static bool comparable(const struct suite *s) {
    for (size_t i = 1; i < s->entries; i++)
        if (strcmp(s->entry[i].scenario.model.preset, s->entry[0].scenario.model.preset) != 0) return false;
    return true;
}

static struct board_row row_of(const struct suite_entry *e, uint32_t trial) {
    char label[BOARD_TEXT];
    snprintf(label, sizeof label, e->trials > 1 ? "%s %u/%u" : "%s", e->test->name, trial + 1, e->trials);
    struct board_row r = board_row_new(label);
    r.weight = suite_entry_s(e) / e->trials + SUITE_AROUND_S;
    if (trial < e->runs) showing_run_row(&r, &e->run[trial]);
    return r;
}

size_t suite_show(const struct suite *s, const struct suite_entry *now) {
    struct board_head h = {.kind = "suite", .point = "test", .ranked = comparable(s)};
    size_t rows = 0, runs = SIZE_MAX;
    showing_run_measures(&h);
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        for (uint32_t k = 0; k < e->trials && !e->refused[0]; k++) {
            struct board_row r = row_of(e, k);
            if (e == now && k == e->runs) {
                r.state = OUTCOME_RUNS;
                runs = rows;
            }
            board_row(s->showing.board, rows++, &r);
        }
    }
    h.expected = rows;
    board_head(s->showing.board, &h);
    showing_wake(&s->showing);
    return runs;
}

void suite_leave(struct suite *s, int status) {
    enum run_status how = s->stopped ? RUN_INTERRUPTED : RUN_COMPLETED;
    for (size_t i = 0; i < s->entries; i++)
        for (uint32_t k = 0; k < s->entry[i].runs; k++)
            if (s->entry[i].run[k].status == RUN_FAILED) how = RUN_FAILED;
    suite_show(s, NULL);
    board_end(s->showing.board, how, "the table and its meaning come when this screen is left");
    showing_close(&s->showing, status);
    s->signal = session_end(s->session);
}
