#include "cli/load/record_screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "draw/format.h"
#include "record/snapshot.h"
#include "study/signals.h"

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : KVF_MISSING;
}

void record_figures(const struct capture *c, struct buf *out) {
    buf_addf(out, "%s request%s, %s tokens in, %s out, %s of the blocks seen before",
             format_exact((double)c->out.requests).text, c->out.requests == 1 ? "" : "s",
             format_count((double)c->input_tokens).text, format_count((double)c->output_tokens).text,
             format_percent(c->blocks ? share(c->known_blocks, c->blocks) : 0).text);
}

static struct capture_part sum_of(const struct capture_part *part) {
    struct capture_part all = {0};
    for (unsigned i = 0; i < CAPTURE_PARTS; i++) {
        all.requests += part[i].requests;
        all.tokens += part[i].tokens;
        all.blocks += part[i].blocks;
        all.known_blocks += part[i].known_blocks;
        all.lost += part[i].lost;
    }
    return all;
}

/* ---- the line ---- */

static void line_tell(struct record_screen *s, const struct capture *c, double gone_s) {
    struct capture_part now = sum_of(c->part), before = sum_of(s->before);
    struct buf line = {0};
    struct stat st;
    if (!isatty(STDERR_FILENO)) return;
    record_figures(c, &line);
    if (gone_s > 0)
        buf_addf(&line, " | %s requests/s, %s tok/s",
                 format_count((double)(now.requests - before.requests) / gone_s).text,
                 format_count((double)(now.tokens - before.tokens) / gone_s).text);
    if (fstat(fileno(c->out.file), &st) == 0) buf_addf(&line, ", %s", format_bytes((double)st.st_size).text);
    if (now.lost > 0) buf_addf(&line, ", %s batches lost", format_exact((double)now.lost).text);
    fprintf(stderr, "\r\033[K%s", buf_text(&line));
    buf_free(&line);
    s->open_line = true;
}

/* ---- the screen ---- */

enum { RATE, TOKENS, REUSE, LOST, REQUESTS, MEASURES };
static const struct board_measure measures[MEASURES] = {[RATE] = {"", "requests/s", ""},
                                                        [TOKENS] = {"", "tok/s", ""},
                                                        [REUSE] = {"reuse_hit_ratio", "seen before", ""},
                                                        [LOST] = {"", "lost", ""},
                                                        [REQUESTS] = {"", "requests", ""}};

static void row_show(const struct record_screen *s, size_t row, const char *name,
                     const struct capture_part *now, const struct capture_part *before, double gone_s) {
    struct board_row r = board_row_new(name);
    r.state = OUTCOME_RUNS;
    if (gone_s > 0) {
        r.value[RATE] = (double)(now->requests - before->requests) / gone_s;
        r.value[TOKENS] = (double)(now->tokens - before->tokens) / gone_s;
    }
    r.value[REUSE] = share(now->known_blocks, now->blocks);
    r.value[LOST] = (double)now->lost;
    r.value[REQUESTS] = (double)now->requests;
    board_row(s->showing.board, row, &r);
}

static void board_tell(struct record_screen *s, const struct capture *c, double gone_s) {
    struct capture_part now = sum_of(c->part), before = sum_of(s->before);
    struct board_head h = {
        .kind = "recording", .point = "from", .parts = true, .endless = true, .measures = MEASURES};
    const char *name = strrchr(c->out.path, '/');
    struct stat st;
    size_t row = 0;
    memcpy(h.measure, measures, sizeof measures);
    snprintf(h.name, sizeof h.name, "%.63s", name ? name + 1 : c->out.path);
    double bytes = fstat(fileno(c->out.file), &st) == 0 ? (double)st.st_size : KVF_MISSING;
    snprintf(h.now, sizeof h.now, "%s, %s; %s tokens in, %s out",
             now.lost > 0 ? "the recording has gaps" : "no gaps", format_bytes(bytes).text,
             format_count((double)c->input_tokens).text, format_count((double)c->output_tokens).text);
    board_head(s->showing.board, &h);
    if (s->parts > 1) row_show(s, row++, "all", &now, &before, gone_s);
    for (unsigned i = 0; i < s->parts; i++)
        row_show(s, row++, s->part[i], &c->part[i], &s->before[i], gone_s);
    if (signals_asked())
        *s->stop = signals_asked();
    else if (board_stop_asked(s->showing.board))
        *s->stop = RECORD_KEY;
    showing_wake(&s->showing);
}

void record_screen_tell(const struct capture *c) {
    struct record_screen *s = c->told;
    uint64_t now_ns = clock_now_ns();
    double gone_s = s->before_ns ? (double)(now_ns - s->before_ns) / (double)KVF_NS_PER_S : 0;
    if (record_screen_shown(s))
        board_tell(s, c, gone_s);
    else
        line_tell(s, c, gone_s);
    s->before_ns = now_ns;
    memcpy(s->before, c->part, sizeof s->before);
}

bool record_screen_shown(const struct record_screen *s) {
    return s->showing.ui != NULL;
}

int record_screen_begin(struct record_screen *s, const struct options *o, bool endless, struct err *e) {
    bool headless = options_has(o, "headless") || !endless;
    int rc = showing_prepare(&s->showing, o, headless, e);
    if (rc || headless || isatty(STDOUT_FILENO) != 1) return rc;
    s->commands = command_queue_new();
    rc = signals_start(s->commands, NULL, e);
    if (rc == 0) showing_open(&s->showing, s->commands);
    if (rc == 0 && !s->showing.ui) (void)signals_stop();
    return rc;
}

void record_screen_end(struct record_screen *s, int rc, const struct err *e) {
    if (s->open_line) fputs("\r\033[K", stderr);
    if (s->showing.ui) {
        board_end(s->showing.board, rc < 0 ? RUN_FAILED : RUN_COMPLETED, rc < 0 ? e->text : "");
        ui_hurry(s->showing.ui); /* its summary follows */
        showing_close(&s->showing, rc < 0 ? err_exit_status(e->code) : rc);
        (void)signals_stop();
        signals_end();
    }
    command_queue_free(s->commands);
    showing_free(&s->showing);
}
