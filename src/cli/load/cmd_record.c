#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/load/record_screen.h"
#include "cli/stored.h"
#include "study/capture/capture_events.h"
#include "study/capture/siphash.h"
#include "study/output.h"
#include "study/signals.h"

static volatile sig_atomic_t stop;

static void asked_to_stop(int number) {
    stop = number;
}

/* The first signal ends the recording in good order, a second one the process. */
static void take_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    signals_handle(numbers, sizeof numbers / sizeof *numbers, asked_to_stop, (int)SA_RESETHAND);
}

static void summary(const struct capture *c, bool events, struct buf *out) {
    buf_addf(out, "%s: ", c->out.path);
    record_figures(c, out);
    buf_addf(out, "\n");
    uint64_t of = c->lines;
    if (events) of = c->out.requests;
    for (unsigned i = 0; i < CAPTURE_REJECTS && events; i++) of += c->rejected[i];
    for (unsigned i = 0; i < CAPTURE_REJECTS; i++)
        if (c->rejected[i] > 0)
            buf_addf(out, "Left out: %" PRIu64 " of %" PRIu64 " %s %s.\n", c->rejected[i], of,
                     events ? "requests" : "lines", capture_reject_text((enum capture_reject)i));
    const struct {
        const char *what;
        uint64_t forgotten;
    } names[] = {{"blocks", c->out.ids.forgotten}, {"sessions", c->out.sessions.forgotten}};
    for (unsigned i = 0; i < 2; i++)
        if (names[i].forgotten > 0)
            buf_addf(out,
                     "Forgotten: %" PRIu64
                     " %s that did not come again among %d others; where one did later, "
                     "it counts as new.\n",
                     names[i].forgotten, names[i].what, CAPTURE_NAMES);
    if (c->set_back > 0)
        buf_addf(out,
                 "Clocks were set back by over a day %" PRIu64
                 " times; their rows go on from the last one.\n",
                 c->set_back);
    if (c->gaps > 0)
        buf_addf(
            out,
            "Gaps of over 30 days: %" PRIu64
            ". A trace cannot have such gaps, so the row after each has the time of the row before it.\n",
            c->gaps);
    if (c->moved > 0)
        buf_addf(out,
                 "Requests later than their time, as later ones came first: %" PRIu64 ", by %s at most.\n",
                 c->moved, format_seconds((double)c->moved_most_ns / 1e9).text);
    if (c->counted_tokens > 0 && c->logged_tokens != c->counted_tokens)
        buf_addf(out, "Tokens of prompts: %s of those that the log counts; text has %s.\n",
                 format_percent(c->counted_tokens / c->logged_tokens).text,
                 c->ranks ? "the tokens of --tokenizer" : "a token for 4 characters");
}

static int nothing_recorded(const struct capture *c, struct err *e) {
    unsigned most = 0;
    for (unsigned i = 1; i < CAPTURE_REJECTS; i++)
        if (c->rejected[i] > c->rejected[most]) most = i;
    return err_set(e, KVF_ERR_IO,
                   "nothing was recorded: of %" PRIu64 " lines none is a request, and %" PRIu64
                   " are %s; say where the fields of this log stand with --map FIELD=PATH",
                   c->lines, c->rejected[most], capture_reject_text((enum capture_reject)most));
}

/* Options of logs and those of events do not go together. */
static int options_apart(const struct options *o, struct err *e) {
    static const char *const of_logs[] = {"map", "block-tokens", "tokenizer", "follow"};
    unsigned pods = 0;
    for (size_t i = 0; i < o->given_count; i++) pods += strcmp(o->given[i].spec->name, "events") == 0;
    if (pods > EVENTS_PODS)
        return err_set(e, KVF_ERR_USAGE, "--events is given %u times; a recording has %d pods at the most",
                       pods, EVENTS_PODS);
    if (pods == 0 && options_has(o, "blocks"))
        return err_set(e, KVF_ERR_USAGE,
                       "--blocks writes the blocks that an engine stores and removes; it needs --events");
    if (pods == 0 && options_has(o, "turn-after"))
        return err_set(e, KVF_ERR_USAGE, "--turn-after is of an engine's events; name it with --events");
    if (pods > 0 && o->operands > 0)
        return err_set(e, KVF_ERR_USAGE, "--events records an engine's events, and no log; leave %s out",
                       o->operand[0]);
    for (size_t i = 0; i < sizeof of_logs / sizeof *of_logs && pods > 0; i++)
        if (options_has(o, of_logs[i]))
            return err_set(e, KVF_ERR_USAGE, "--%s is of logs, and --events reads none; leave it out",
                           of_logs[i]);
    if (options_has(o, "follow") && o->operands != 1)
        return err_set(e, KVF_ERR_USAGE, "--follow takes a single file");
    return 0;
}

static int set_up(const struct options *o, struct capture *c, struct err *e) {
    const char *path = stored_output(o), *blocks = options_value(o, "blocks"),
               *salt = options_value(o, "salt");
    c->block_tokens = 512;
    if (!path) return err_set(e, KVF_ERR_USAGE, "record needs a file to write: --output FILE");
    int rc = options_number(o, "block-tokens", 1, 1 << 20, &c->block_tokens, e);
    if (!rc) rc = capture_map(c, NULL, e);
    for (size_t i = 0; i < o->given_count && !rc; i++)
        if (strcmp(o->given[i].spec->name, "map") == 0) rc = capture_map(c, o->given[i].value, e);
    if (!rc) rc = options_apart(o, e);
    if (!rc && options_has(o, "tokenizer")) rc = capture_tokenizer(c, options_value(o, "tokenizer"), e);
    for (size_t i = 0; i < o->operands && !rc; i++)
        if (strcmp(o->operand[i], "-") != 0 && access(o->operand[i], R_OK) != 0)
            rc = err_set(e, KVF_ERR_USAGE, "the log %s cannot be read; name a file, or - for standard input",
                         o->operand[i]);
    if (!rc) rc = stored_apart(o, (const char *[]){path, blocks, salt}, 3, e);
    if (!rc) rc = stored_output_check(o, e);
    if (!rc && blocks) rc = output_file_check(blocks, options_has(o, "overwrite"), e);
    if (!rc) rc = capture_salt(c, salt, e);
    if (!rc) rc = trace_write_begin(&c->out, path, TRACE_FORM_MOONCAKE, c->block_tokens, 0, e);
    c->out.keep_ids = salt != NULL;
    c->out.salt = salt ? siphash(c->salt, "", 0) | 1 : 0;
    c->out.ids.most = c->out.sessions.most = CAPTURE_NAMES;
    return rc;
}

static void events_summary(const struct capture_events *ev, struct buf *out) {
    buf_addf(out,
             "Events: %" PRIu64 " blocks stored, %" PRIu64 " of them again, %" PRIu64
             " removed; cleared %" PRIu64 " times, started anew %" PRIu64 ".\n",
             ev->stored, ev->again, ev->removed, ev->cleared, ev->restarts);
    if (ev->looked_up > 0)
        buf_addf(out,
                 "Hits of the engine: %s of the blocks of requests that stored any; others send no event.\n",
                 format_percent(1 - (double)ev->computed / (double)ev->looked_up).text);
    if (ev->answered > 0)
        buf_addf(out, "Blocks stored while answering, which are no lookups: %" PRIu64 ".\n", ev->answered);
    if (ev->held.dropped > 0)
        buf_addf(out,
                 "Forgotten: %" PRIu64
                 " blocks that were there, as more than %d were at once; their residence is "
                 "not counted.\n",
                 ev->held.dropped, HELD_MOST);
    if (histogram_count(&ev->residence) > 0)
        buf_addf(out, "Residence: P50 %s, P90 %s, mean %s.\n",
                 format_seconds(histogram_quantile(&ev->residence, 0.5) / 1e9).text,
                 format_seconds(histogram_quantile(&ev->residence, 0.9) / 1e9).text,
                 format_seconds(histogram_mean(&ev->residence) / 1e9).text);
    if (ev->replayed > 0)
        buf_addf(out, "Batches that came when asked for again: %" PRIu64 ".\n", ev->replayed);
    if (ev->lost > 0) buf_addf(out, "The recording has gaps. Lost batches: %" PRIu64 ".\n", ev->lost);
    if (ev->orphans > 0)
        buf_addf(out,
                 "Runs of blocks without what came before them, which was stored earlier: %" PRIu64 ".\n",
                 ev->orphans);
    if (ev->malformed > 0)
        buf_addf(out, "Left out: %" PRIu64 " of %" PRIu64 " batches that are no events.\n", ev->malformed,
                 ev->batches);
}

/* Addresses of --events, with those that replay. */
static unsigned endpoints(const struct options *o, const char *endpoint[EVENTS_PODS]) {
    unsigned count = 0;
    for (size_t i = 0; i < o->given_count && count < EVENTS_PODS; i++)
        if (strcmp(o->given[i].spec->name, "events") == 0) endpoint[count++] = o->given[i].value;
    return count;
}

static int record_events(const struct options *o, struct capture *c, struct buf *out, struct err *e) {
    struct capture_events *ev = mem_alloc(sizeof *ev);
    const char *endpoint[EVENTS_PODS];
    unsigned count = endpoints(o, endpoint);
    capture_events_init(ev, c);
    const char *blocks = options_value(o, "blocks"), *turn = options_value(o, "turn-after");
    int rc = blocks ? capture_events_blocks(ev, blocks, e) : 0;
    if (!rc && turn && units_parse_duration(turn, &ev->turn_ns) != 0)
        rc = err_set(e, KVF_ERR_USAGE, "--turn-after is a duration such as 2s, or 0s, not \"%s\"", turn);
    if (!rc) rc = capture_events_receive(ev, endpoint, count, record_screen_tell, e);
    if (!rc) events_summary(ev, out);
    int ended = capture_events_blocks_end(ev, blocks, rc ? &(struct err){0} : e);
    if (!rc) rc = ended;
    capture_events_free(ev);
    free(ev);
    return rc;
}

static int record(const struct options *o, struct capture *c, struct buf *told, struct err *e) {
    struct record_screen *screen = c->told;
    const char *part[CAPTURE_PARTS] = {o->operands ? o->operand[0] : "standard input"};
    bool events = options_has(o, "events"), follow = options_has(o, "follow");
    char name[CAPTURE_PARTS][64];
    screen->parts = events ? endpoints(o, part) : 1;
    screen->part = part;
    screen->stop = c->stop;
    for (unsigned i = 0; events && i < screen->parts; i++) {
        snprintf(name[i], sizeof name[i], "%.*s", (int)strcspn(part[i], ","), part[i]);
        part[i] = name[i];
    }
    int rc = record_screen_begin(screen, o, events || follow, e);
    if (!rc && !record_screen_shown(screen)) take_signals();
    if (!rc && record_screen_shown(screen)) record_screen_tell(c);
    if (!rc && events)
        rc = record_events(o, c, told, e);
    else if (!rc)
        rc = capture_read(c, o->operands ? o->operand : (const char *const[]){"-"},
                          o->operands ? o->operands : 1, follow, record_screen_tell, e);
    record_screen_end(screen, rc, e);
    return !rc && stop > 0 ? 128 + (int)stop : rc;
}

int cmd_record(const struct options *o, struct command_reply *r, struct err *e) {
    struct capture *c = mem_zalloc(1, sizeof *c);
    struct record_screen *screen = mem_zalloc(1, sizeof *screen);
    struct buf told = {0};
    int rc = set_up(o, c, e);
    c->stop = &stop;
    c->told = screen;
    c->out.tells_lost = options_has(o, "events");
    if (!rc) rc = record(o, c, &told, e);
    if (c->out.file) {
        struct err ended = {0};
        summary(c, options_has(o, "events"), &r->text);
        buf_add(&r->text, buf_text(&told));
        if (trace_write_end(&c->out, &ended) != 0 && rc >= 0) {
            *e = ended;
            rc = -(int)ended.code;
        }
        if (rc == 0 && c->lines > 0 && c->out.requests == 0) rc = nothing_recorded(c, e);
    }
    buf_free(&told);
    capture_free(c);
    free(c);
    free(screen);
    return rc;
}
