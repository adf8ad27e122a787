#include "engine/sampling/together.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/pods/away.h"
#include "engine/sampling/together_inside.h"

#define LEAD_NS (50 * KVF_NS_PER_MS) /* from START to the beginning, for the message to arrive */
/* Rank 0 waits so long for the others' counts while the run is real, and less than half an interval. */
#define LATE_NS KVF_NS_PER_S
#define BOTH_NS (100 * KVF_NS_PER_US) /* two clocks read in that time were read at one moment */
/* Silence is watched for the last part of RANK_LOST_NS: a process that stood still heard nobody either. */
#define WATCH_NS (2 * KVF_NS_PER_S)
enum { PREPARED_MS = 5, WAIT_MS = 10 };

struct together_part *together_part(const struct engine *e) {
    return e->control.together ? &e->control.together->part : NULL;
}

int together_fd(const struct engine *e) {
    return e->control.together ? rank_fd(e->control.together->rank) : -1;
}

uint64_t together_users(const struct engine *e) {
    return e->control.together->users;
}

void together_set_users(struct engine *e, uint64_t users) {
    struct together *t = e->control.together;
    struct command cmd = {.kind = COMMAND_USERS, .value = users, .text = "rank 0"};
    if (!t) {
        dispatch_set_users(e, users);
        return;
    }
    if (t->number == 0) rank_send_all(t->rank, RANK_COMMAND, 0, &cmd, sizeof cmd);
    t->users = users;
    uint64_t own = users / t->count + (t->number < users % t->count);
    if (e->s->fleet.pods > 1) own = t->number == 0 ? users : 0;
    dispatch_set_users(e, own);
}

void together_event(struct engine *e, const struct record_event *ev) {
    struct together *t = e->control.together;
    if (t && t->number > 0 && strcmp(ev->level, "info") != 0)
        rank_send(t->rank, 0, RANK_EVENT, strcmp(ev->level, "error") == 0, ev->message, strlen(ev->message));
}

int together_open(struct engine *e, struct err *err) {
    struct rank *rank = e->setup->rank;
    if (!rank) return 0;
    struct together *t = e->control.together = mem_zalloc(1, sizeof *t);
    t->rank = rank;
    t->early_tail = &t->early;
    t->number = rank_number(rank);
    t->count = rank_count(rank);
    t->users = e->s->workload.users * (e->s->ranks.users == KVF_DEAL_PER_RANK ? t->count : 1);
    snapshot_host_blank(&t->part.interval);
    snapshot_host_blank(&t->part.measured);
    t->note = (struct note){.interval = t->part.interval, .measured = t->part.measured};
    int rc = reading_open(&t->part.last, err);
    if (rc == 0) rc = reading_open(&t->part.base, err);
    if (rc != 0 || t->number > 0) return rc;
    t->members = mem_zalloc(t->count, sizeof *t->members);
    for (unsigned i = 1; i < t->count; i++) {
        t->members[i].tail = &t->members[i].first;
        t->members[i].note = t->note;
    }
    return reading_open(&t->unpacked, err);
}

static void messages_free(struct rank_message *m) {
    for (struct rank_message *next; m; m = next) {
        next = m->next;
        free(m);
    }
}

void together_close(struct engine *e) {
    struct together *t = e->control.together;
    if (!t) return;
    for (unsigned i = 1; t->members && i < t->count; i++) {
        struct member *m = &t->members[i];
        messages_free(m->first);
        free(m->newest);
        free(m->before);
    }
    messages_free(t->early);
    reading_close(&t->unpacked);
    reading_close(&t->part.last);
    reading_close(&t->part.base);
    free(t->members);
    free(t->commands);
    free(t);
    e->control.together = NULL;
}

/* ---- what comes ---- */

__attribute__((format(printf, 3, 4))) static void end_because(struct together *t, enum run_status status,
                                                              const char *fmt, ...) {
    va_list ap;
    if (t->ends) return;
    t->ends = true;
    t->status = status;
    va_start(ap, fmt);
    vsnprintf(t->why, sizeof t->why, fmt, ap);
    va_end(ap);
}

static void rank_failed(struct engine *e, unsigned i, const char *what) {
    struct together *t = e->control.together;
    if (e->setup->keep_going)
        events_add(&e->events, "error", "rank %u on %s %s; the run goes on without it", i,
                   rank_host(t->rank, i), what);
    else
        end_because(t, RUN_FAILED, "rank %u on %s %s", i, rank_host(t->rank, i), what);
}

/* Said with the end of a workload, or of a run: its status, and the moment before it. */
static uint64_t end_code(const struct engine *e, enum run_status status) {
    return e->control.moment << 8 | (uint64_t)status;
}

/* A rank says that its workload has ended (RUN_RUNNING), or its run, and how; rank 0 that of all. */
static void ended_take(struct engine *e, const struct rank_message *m) {
    struct together *t = e->control.together;
    char why[300];
    snprintf(why, sizeof why, "%.*s", (int)m->len, (const char *)m->bytes);
    enum run_status status = (enum run_status)(m->number & 0xff);
    if (t->number > 0) {
        end_because(t, status, "%s", why);
        return;
    }
    struct member *from = &t->members[m->from];
    if (!from->done) from->done_moment = m->number >> 8;
    from->done = true;
    if (status == RUN_RUNNING) return;
    from->ended = true;
    if (status == RUN_FAILED) {
        char what[340];
        snprintf(what, sizeof what, "failed: %s", why);
        rank_failed(e, m->from, what);
    } else if (status == RUN_INTERRUPTED) {
        end_because(t, status, "rank %u on %s was stopped: %s", m->from, rank_host(t->rank, m->from), why);
    }
}

static void command_keep(struct together *t, const struct rank_message *m) {
    if (m->len != sizeof *t->commands) return;
    t->commands = mem_realloc(t->commands, (t->kept + 1) * sizeof *t->commands);
    memcpy(&t->commands[t->kept++], m->bytes, sizeof *t->commands);
}

static bool reading_keep(struct together *t, struct rank_message *m) {
    struct member *from = &t->members[m->from];
    m->next = NULL;
    *from->tail = m;
    from->tail = &m->next;
    return true;
}

void together_early(struct engine *e) {
    struct together *t = e->control.together;
    for (struct rank_message *m; t && (m = t->early) != NULL; free(m)) {
        t->early = m->next;
        if (m->kind == RANK_OUTAGE)
            gone_set(e, m->number != 0);
        else
            dispatch_guest(e, m->number, m->bytes, m->len);
    }
}

static void message_take(struct engine *e, struct rank_message *m) {
    struct together *t = e->control.together;
    bool from_member = t->number == 0 && m->from > 0 && m->from < t->count;
    bool in_order = m->kind == RANK_REQUEST || m->kind == RANK_OUTAGE; /* see gone.h */
    if (in_order && t->number > 0 && !e->dispatch.on) {
        *t->early_tail = m;
        t->early_tail = &m->next;
        return;
    }
    if (m->kind == RANK_READING && from_member && reading_keep(t, m)) return;
    if (m->kind == RANK_WINDOW && shards_take(e, m)) return;
    if (m->kind == RANK_READY && from_member)
        t->members[m->from].ready = true;
    else if (m->kind == RANK_START && t->number > 0)
        t->start_ns = m->number;
    else if (m->kind == RANK_COMMAND && t->number > 0)
        command_keep(t, m);
    else if (m->kind == RANK_GO && t->number > 0)
        t->go = m->number;
    else if (m->kind == RANK_EVENT && from_member)
        events_add(&e->events, m->number ? "error" : "warning", "rank %u on %s: %.*s", m->from,
                   rank_host(t->rank, m->from), (int)m->len, (const char *)m->bytes);
    else if (m->kind == RANK_REQUEST && t->number > 0)
        dispatch_guest(e, m->number, m->bytes, m->len);
    else if (m->kind == RANK_ANSWER && from_member)
        dispatch_answer(e, m->from, m->number, m->bytes, m->len);
    else if (m->kind == RANK_BLOCKS && from_member)
        away_moved_take(e, m->from, m->bytes, m->len);
    else if (m->kind == RANK_OUTAGE && t->number > 0)
        gone_set(e, m->number != 0);
    else if (m->kind == RANK_OUTAGE && from_member)
        gone_told(e, m->bytes, m->len);
    else if (m->kind == RANK_ENDED)
        ended_take(e, m);
    free(m);
}

/* Its run has ended and its last counts are here: it may go. */
static bool said_all(const struct member *m) {
    const struct rank_message *last = m->first;
    while (last && last->next) last = last->next;
    return m->ended && (last ? last->number : m->moment) >= TOGETHER_DRAINED;
}

static void member_lost(struct engine *e, unsigned i) {
    struct together *t = e->control.together;
    struct member *m = &t->members[i];
    char what[80];
    m->lost = m->done = true;
    snprintf(what, sizeof what, "is lost: it has given no sign of life for %.0f s",
             (double)RANK_LOST_NS / (double)KVF_NS_PER_S);
    if (m->ended)
        events_add(&e->events, "warning", "rank %u on %s ended, and its last counts are missing", i,
                   rank_host(t->rank, i));
    else
        rank_failed(e, i, what);
}

static bool is_silent(const struct together *t, unsigned i, uint64_t *since_ns) {
    uint64_t now = clock_now_ns(), silent = rank_silent_ns(t->rank, i);
    if (silent < RANK_LOST_NS - WATCH_NS) {
        *since_ns = 0;
        return false;
    }
    if (*since_ns == 0) *since_ns = now;
    return silent >= RANK_LOST_NS && now - *since_ns >= WATCH_NS;
}

static void silence_look(struct engine *e) {
    struct together *t = e->control.together;
    for (unsigned i = 0; i < t->count; i++) {
        if (t->number > 0 && i > 0) break;
        if (i == t->number || !is_silent(t, i, t->number > 0 ? &t->silent_ns : &t->members[i].silent_ns))
            continue;
        if (t->number > 0)
            end_because(t, RUN_FAILED, "rank 0 has given no sign of life for %.0f s",
                        (double)RANK_LOST_NS / (double)KVF_NS_PER_S);
        else if (!t->members[i].lost && !said_all(&t->members[i]))
            member_lost(e, i);
    }
}

static void hear(struct engine *e) {
    struct together *t = e->control.together;
    struct rank_message *m;
    while ((m = rank_take(t->rank)) != NULL) message_take(e, m);
    silence_look(e);
}

bool together_hear(struct engine *e, struct command *out) {
    struct together *t = e->control.together;
    if (!t) return false;
    hear(e);
    if (t->kept == 0) return false;
    *out = t->commands[0];
    memmove(t->commands, t->commands + 1, --t->kept * sizeof *t->commands);
    return true;
}

void together_command(struct engine *e, const struct command *cmd) {
    struct together *t = e->control.together;
    if (t && t->number == 0) rank_send_all(t->rank, RANK_COMMAND, 0, cmd, sizeof *cmd);
}

static void wait_for_message(const struct together *t, int ms) {
    struct pollfd p = {.fd = rank_fd(t->rank), .events = POLLIN};
    poll(&p, 1, ms);
}

bool together_wait(struct engine *e) {
    rank_await(e->control.together->rank, true);
    wait_for_message(e->control.together, WAIT_MS);
    rank_await(e->control.together->rank, false);
    hear(e);
    return !e->control.together->ends;
}

/* ---- beginning and end ---- */

/* Rank 0: a time that all can keep, once every rank that is not lost is prepared and its clock is known. */
static void start_name(struct engine *e) {
    struct together *t = e->control.together;
    int64_t offset_ns;
    uint64_t error_ns;
    for (unsigned i = 1; i < t->count; i++) {
        const struct member *m = &t->members[i];
        if (!m->lost && (!m->ready || !rank_clock_offset(t->rank, i, &offset_ns, &error_ns))) return;
    }
    t->start_ns = clock_now_ns() + LEAD_NS;
    for (unsigned i = 1; i < t->count; i++) {
        if (t->members[i].lost) continue;
        rank_clock_offset(t->rank, i, &offset_ns, &error_ns);
        rank_send(t->rank, i, RANK_START, t->start_ns + (uint64_t)offset_ns, NULL, 0);
    }
}

bool together_begins(struct engine *e) {
    struct together *t = e->control.together;
    if (!t) return true;
    if (!t->said_ready && t->number > 0) rank_send(t->rank, 0, RANK_READY, 0, NULL, 0);
    t->said_ready = true;
    if (t->number == 0 && t->start_ns == 0) start_name(e);
    if (t->start_ns == 0) {
        wait_for_message(t, PREPARED_MS);
        return false;
    }
    uint64_t now = clock_now_ns();
    if (now < t->start_ns) {
        struct timespec rest = {0, (long)(t->start_ns - now)};
        if (t->start_ns - now > LEAD_NS) return false;
        nanosleep(&rest, NULL);
    }
    do { /* both clocks at one moment */
        now = clock_now_ns();
        e->control.begun_ns = engine_now(e);
    } while (clock_now_ns() - now > BOTH_NS);
    e->control.late_ns = now - t->start_ns;
    return true;
}

bool together_ends(struct engine *e, enum run_status *status, char *why, size_t len) {
    const struct together *t = e->control.together;
    if (!t || !t->ends) return false;
    *status = t->status;
    snprintf(why, len, "%s", t->why);
    return true;
}

bool together_done(struct engine *e) {
    struct together *t = e->control.together;
    if (!t) return true;
    if (e->routes.fleet && t->number == 0)
        return true; /* the others have what it sends, which has come back */
    if (t->number > 0) {
        if (!t->said_done) rank_send(t->rank, 0, RANK_ENDED, end_code(e, RUN_RUNNING), NULL, 0);
        t->said_done = true;
        return false; /* rank 0 says when */
    }
    for (unsigned i = 1; i < t->count; i++)
        if (!t->members[i].done || (engine_is_virtual(e) && t->members[i].done_moment >= e->control.moment))
            return false;
    return true;
}

void together_end(struct engine *e, enum run_status status, const char *why) {
    struct together *t = e->control.together;
    if (!t || t->said_failed || (t->said_end && status != RUN_FAILED)) return;
    t->said_end = true;
    t->said_failed = status == RUN_FAILED;
    if (t->number == 0)
        rank_send_all(t->rank, RANK_ENDED, end_code(e, status), why, strlen(why));
    else
        rank_send(t->rank, 0, RANK_ENDED, end_code(e, status), why, strlen(why));
}

/* ---- readings ---- */

static void note_take(struct together *t, uint64_t late_ns, uint64_t moment) {
    t->note.late_ns = (int64_t)late_ns;
    t->note.interval = t->part.interval, t->note.measured = t->part.measured;
    t->note.interval.rank.rank = t->note.measured.rank.rank = t->number;
    if (t->number > 0) return;
    t->members[0].note = t->note;
    t->members[0].moment = moment;
}

static void reading_send(struct engine *e, const struct reading *r, uint64_t moment) {
    struct together *t = e->control.together;
    struct buf bytes = {0};
    buf_bytes(&bytes, &t->note, sizeof t->note);
    shards_pack(e, &bytes);
    reading_pack(r, &bytes);
    rank_send(t->rank, 0, RANK_READING, moment, bytes.data, bytes.len);
    buf_free(&bytes);
}

static void member_use(struct member *m, struct rank_message *of, bool is_read) {
    m->newest = of;
    m->is_read = is_read;
    m->moment = of ? of->number : 0;
    if (of) memcpy(&m->note, of->bytes, sizeof m->note);
}

static void member_unreadable(struct engine *e, unsigned i) {
    struct member *m = &e->control.together->members[i];
    if (!m->unreadable) rank_failed(e, i, "sent counts that cannot be read");
    m->unreadable = true;
}

/* The newest reading up to that moment; those before it are of no use any more, but for the last that could
 * be read. */
static void member_bring(struct engine *e, unsigned i, uint64_t moment) {
    struct member *m = &e->control.together->members[i];
    while (m->first && m->first->number <= moment) {
        struct rank_message *of = m->first, *next = of->next;
        m->first = next;
        if (!next) m->tail = &m->first;
        bool last = !next || next->number > moment, whole = of->len > sizeof m->note;
        if (!last || !whole) {
            if (last) member_unreadable(e, i);
            free(of);
            continue;
        }
        if (m->is_read)
            m->before = m->newest;
        else
            free(m->newest);
        member_use(m, of, false);
    }
}

/* Whether everybody's counts of that moment, or of a later one, are there. */
static bool all_there(const struct together *t, uint64_t moment) {
    for (unsigned i = 1; i < t->count; i++) {
        const struct member *m = &t->members[i];
        if (!m->lost && m->moment < moment && !m->first) return false;
    }
    return true;
}

/* Counts are sums since the start: where the newest cannot be read, those before it hold. */
static bool member_read(struct engine *e, unsigned i) {
    struct together *t = e->control.together;
    struct member *m = &t->members[i];
    while (m->newest) {
        const unsigned char *pods = m->newest->bytes + sizeof m->note;
        size_t len = m->newest->len - sizeof m->note, before = shards_packed(e, i);
        if (before <= len && reading_unpack(&t->unpacked, pods + before, len - before) == 0) {
            shards_told(e, i, pods);
            m->is_read = true;
            free(m->before);
            m->before = NULL;
            return true;
        }
        free(m->newest);
        member_use(m, m->before, m->before != NULL);
        m->before = NULL;
        member_unreadable(e, i);
    }
    return false;
}

static void members_merge(struct engine *e, struct reading *r) {
    struct together *t = e->control.together;
    pods_told(e, 0, r);
    for (unsigned i = 1; i < t->count; i++)
        if (member_read(e, i)) {
            pods_told(e, i, &t->unpacked);
            reading_merge(r, &t->unpacked, rank_shares_host(t->rank, i));
        }
    r->ranks = kvf_min(r->ranks, scenario_ranks(e->s));
}

uint64_t together_cpu_ns(const struct engine *e) {
    const struct together *t = e->control.together;
    return t ? rank_cpu_ns(t->rank) + t->packing_ns : 0;
}

static uint64_t patience_ns(const struct engine *e, uint64_t moment) {
    uint64_t half = e->s->run.interval_ns / 2;
    if (engine_is_virtual(e) || moment >= TOGETHER_END) return KVF_NEVER;
    return half < LATE_NS ? half : LATE_NS;
}

void together_reading(struct engine *e, struct reading *r, uint64_t moment) {
    struct together *t = e->control.together;
    if (!t) return;
    uint64_t begun_ns = clock_thread_cpu_ns();
    note_take(t, e->control.late_ns, moment);
    if (t->number > 0) {
        reading_send(e, r, moment);
        t->packing_ns += clock_thread_cpu_ns() - begun_ns;
        while (engine_is_virtual(e) && moment < TOGETHER_END && t->go < moment && !t->ends) {
            wait_for_message(t, WAIT_MS);
            hear(e);
        }
        return;
    }
    uint64_t patience = patience_ns(e, moment),
             until = patience == KVF_NEVER ? KVF_NEVER : clock_now_ns() + patience;
    for (;;) {
        hear(e);
        for (unsigned i = 1; i < t->count; i++) member_bring(e, i, moment);
        if (all_there(t, moment) || clock_now_ns() >= until) break;
        wait_for_message(t, WAIT_MS);
    }
    members_merge(e, r);
    t->packing_ns += clock_thread_cpu_ns() - begun_ns;
}

void together_go(struct engine *e) {
    struct together *t = e->control.together;
    if (t && t->number == 0 && engine_is_virtual(e))
        rank_send_all(t->rank, RANK_GO, e->control.moment, NULL, 0);
}

void together_peek(struct engine *e, struct reading *r) {
    struct together *t = e->control.together;
    if (!t || t->number > 0) return;
    uint64_t begun_ns = clock_thread_cpu_ns();
    members_merge(e, r);
    t->packing_ns += clock_thread_cpu_ns() - begun_ns;
}
