#include "rank/rank.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/clock.h"
#include "base/terms.h"
#include "probe/host.h"
#include "rank/launcher.h"
#include "rank/link.h"
#include "rank/plugin.h"

/* Nothing tells when a message comes: it is looked for, often while messages come, and seldom after. */
enum { LOOK_LEAST_US = 100, LOOK_HURRY_US = 500, LOOK_MOST_US = 20000 };
enum { BEAT_MS = 500, JOIN_S = 60, END_S = 10 }; /* longer than a rank waits for rank 0 as it leaves */
/* Processes of one boot have one clock: the few questions there tell whether that is so. */
enum { QUESTIONS = 40, QUESTIONS_HERE = 3 };
#define HOT_NS    (20 * KVF_NS_PER_MS)  /* after a question of the clock, or its answer */
#define WARM_NS   KVF_NS_PER_MS         /* after another message; after a beat nothing is awaited */
#define KEEN_NS   (300 * KVF_NS_PER_US) /* that messages are looked for all the time */
#define AWAIT_NS  (5 * KVF_NS_PER_MS)   /* the same while nothing else is done: a window of a simulation */
#define LEAVE_NS  (2 * KVF_NS_PER_S)
#define ASK_LATER (50 * KVF_NS_PER_MS)

/* Travels as it stands: all ranks are of one build, which the first message says. */
struct head {
    uint32_t kind, round;
    uint64_t number;
};
struct sending {
    struct sending *next;
    unsigned to;
    void *under_way; /* what the link gave; NULL: not begun */
    size_t len;
    unsigned char bytes[]; /* head, then what follows it */
};

struct peer {
    char host[RANK_HOST], boot[40];
    bool here;
    _Atomic uint64_t heard_ns;
    /* rank 0 asks, one question at a time; an answer names its question, for one may come too late */
    unsigned asked, answered; /* written with the lock */
    bool awaited;             /* an answer to the last question */
    uint64_t asked_ns;
    int64_t offset_ns;
    uint64_t error_ns; /* 0: no answer yet */
};

struct rank {
    void *library;
    const struct rank_link *link;
    unsigned number, count;
    struct peer *peers;
    pthread_t thread;
    int wake_fd, come_fd;
    int launcher_fd; /* can be read when the launcher is gone; -1: nobody asks */
    void (*gone)(void);
    _Atomic bool leaving, orderly, hurry;
    _Atomic uint64_t awaited_ns; /* since when the caller waits; 0: it does not */
    unsigned beside;             /* ranks on this host, when joined */
    uint64_t look_us;            /* the least between two looks for a message */
    pthread_mutex_t lock;
    struct sending *first_out, **out_tail;    /* lock */
    struct rank_message *first_in, **in_tail; /* lock */
    uint32_t round;                           /* of the run under way; lock */
    struct sending *under_way;                /* the thread's own, as is what follows */
    uint64_t beat_ns, hot_until_ns;
    pthread_mutex_t joining;
    pthread_cond_t joined;
    int join_rc; /* 1: not known yet */
    char why[200];
};

bool rank_launched(void) {
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (getenv(signs[i])) return true;
    return false;
}

const char *rank_library(char *why, size_t len) {
    const struct rank_link *link = NULL;
    return plugin_open(&link, why, len) ? link->library : NULL; /* it stays loaded */
}

/* ---- the thread ---- */

static void wake(int fd) {
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
}

static void post(struct rank *r, unsigned to, enum rank_kind kind, uint64_t number, const void *bytes,
                 size_t len) {
    struct sending *s = mem_alloc(sizeof *s + sizeof(struct head) + len);
    pthread_mutex_lock(&r->lock);
    struct head head = {.kind = (uint32_t)kind, .round = r->round, .number = number};
    *s = (struct sending){.to = to, .len = sizeof head + len};
    memcpy(s->bytes, &head, sizeof head);
    if (len > 0) memcpy(s->bytes + sizeof head, bytes, len);
    *r->out_tail = s;
    r->out_tail = &s->next;
    pthread_mutex_unlock(&r->lock);
}

static bool send_all_posted(struct rank *r) {
    pthread_mutex_lock(&r->lock);
    struct sending *s = r->first_out;
    r->first_out = NULL;
    r->out_tail = &r->first_out;
    pthread_mutex_unlock(&r->lock);
    bool any = s != NULL;
    while (s) {
        struct sending *next = s->next;
        s->under_way = r->link->send(s->to, s->bytes, s->len);
        s->next = r->under_way;
        if (s->under_way)
            r->under_way = s;
        else
            free(s);
        s = next;
    }
    return any;
}

static void forget_sent(struct rank *r) {
    for (struct sending **at = &r->under_way; *at;) {
        struct sending *s = *at;
        if (r->link->sent(s->under_way)) {
            *at = s->next;
            free(s);
        } else {
            at = &s->next;
        }
    }
}

static void join_done(struct rank *r, int rc) {
    pthread_mutex_lock(&r->joining);
    if (r->join_rc == 1) r->join_rc = rc;
    pthread_cond_signal(&r->joined);
    pthread_mutex_unlock(&r->joining);
}

static bool same_host(const struct peer *a, const struct peer *b) {
    return strcmp(a->boot, b->boot) == 0 && strcmp(a->host, b->host) == 0;
}

/* Ranks that share a processor would take it from each other by looking. */
static void beside_set(struct rank *r, unsigned beside) {
    unsigned processors = host_cpus_beside(), each = (beside + processors - 1) / processors;
    uint64_t look_us = (uint64_t)LOOK_LEAST_US * (each > 0 ? each : 1);
    r->beside = beside;
    r->look_us = look_us < LOOK_MOST_US ? look_us : LOOK_MOST_US;
}

/* Rank 0: everybody is here, and learns who shares its host. */
static void places_tell(struct rank *r) {
    for (unsigned i = r->count; i-- > 0;) {
        unsigned beside = 0;
        for (unsigned k = 0; k < r->count; k++) beside += same_host(&r->peers[i], &r->peers[k]);
        if (i > 0)
            post(r, i, RANK_PLACE, beside, NULL, 0);
        else
            beside_set(r, beside);
    }
    join_done(r, 0);
}

static void hello_take(struct rank *r, unsigned from, const char *text, size_t len) {
    struct peer *p = &r->peers[from];
    char version[64] = "";
    unsigned here = 0;
    if (len == 0 || text[len - 1] != '\0' || sscanf(text, "%63s %63s %39s", version, p->host, p->boot) != 3)
        return;
    p->here = strcmp(version, build_version()) == 0;
    if (!p->here) {
        snprintf(r->why, sizeof r->why,
                 "rank %u on %s runs kvfall %s and rank 0 %s; install the same version", from, p->host,
                 version, build_version());
        join_done(r, -1);
    }
    for (unsigned i = 0; i < r->count; i++) here += r->peers[i].here;
    if (here == r->count) places_tell(r);
}

/* Has told its time well enough; with the lock, or in the thread. */
static bool answered_enough(const struct rank *r, const struct peer *p) {
    bool one_clock = same_host(p, &r->peers[0]) && p->offset_ns <= (int64_t)p->error_ns &&
                     -p->offset_ns <= (int64_t)p->error_ns;
    return p->answered >= (one_clock ? QUESTIONS_HERE : QUESTIONS);
}

/* The quickest answer tells most: the other clock was read at some moment while the question was out. */
static void answer_take(struct rank *r, const struct rank_message *m, uint64_t now_ns) {
    struct peer *p = &r->peers[m->from];
    uint64_t half_ns = (now_ns - p->asked_ns) / 2, theirs_ns = m->number;
    unsigned question;
    if (m->len != sizeof question) return;
    memcpy(&question, m->bytes, sizeof question);
    if (!p->awaited || question != p->asked) return;
    p->awaited = false;
    pthread_mutex_lock(&r->lock);
    p->answered++;
    if (p->error_ns == 0 || half_ns < p->error_ns) {
        p->offset_ns = (int64_t)(theirs_ns - (p->asked_ns + half_ns));
        p->error_ns = half_ns > 0 ? half_ns : 1;
    }
    pthread_mutex_unlock(&r->lock);
}

static void keep(struct rank *r, struct rank_message *m) {
    m->next = NULL;
    pthread_mutex_lock(&r->lock);
    *r->in_tail = m;
    r->in_tail = &m->next;
    pthread_mutex_unlock(&r->lock);
    wake(r->come_fd);
}

static bool receive_one(struct rank *r) {
    unsigned from;
    long len = r->link->arrived(&from);
    struct head head;
    if (len < 0 || from >= r->count) return false;
    struct rank_message *m = mem_alloc(sizeof *m + (size_t)len);
    bool taken = r->link->receive(from, m->bytes, (size_t)len) == 0;
    if (!taken || len < (long)sizeof head) {
        free(m);
        return taken;
    }
    uint64_t now = clock_now_ns();
    memcpy(&head, m->bytes, sizeof head);
    m->len = (size_t)len - sizeof head;
    memmove(m->bytes, m->bytes + sizeof head, m->len);
    m->from = from;
    m->kind = (enum rank_kind)head.kind;
    m->number = head.number;
    m->round = head.round;
    atomic_store(&r->peers[from].heard_ns, now);
    bool clock = m->kind == RANK_PING || m->kind == RANK_PONG;
    uint64_t hot_ns = now + (clock ? HOT_NS : m->kind == RANK_BEAT ? 0 : WARM_NS);
    if (hot_ns > r->hot_until_ns) r->hot_until_ns = hot_ns;
    switch (m->kind) {
    case RANK_HELLO:
        hello_take(r, from, (const char *)m->bytes, m->len);
        break;
    case RANK_PLACE:
        beside_set(r, (unsigned)m->number);
        join_done(r, 0);
        break;
    case RANK_PING:
        post(r, from, RANK_PONG, clock_now_ns(), m->bytes, m->len);
        break;
    case RANK_PONG:
        answer_take(r, m, now);
        break;
    case RANK_BEAT:
        break;
    default:
        if (m->kind < RANK_KINDS) {
            keep(r, m);
            return true;
        }
    }
    free(m);
    return true;
}

/* Signs of life to rank 0 and from it to all; and rank 0's questions for the time. */
static void tell(struct rank *r, uint64_t now_ns) {
    bool beat = now_ns - r->beat_ns >= BEAT_MS * KVF_NS_PER_MS;
    if (beat) r->beat_ns = now_ns;
    for (unsigned i = 0; i < r->count; i++) {
        struct peer *p = &r->peers[i];
        if (i == r->number || (r->number != 0 && i != 0)) continue;
        if (beat) post(r, i, RANK_BEAT, 0, NULL, 0);
        if (r->number != 0 || !p->here || answered_enough(r, p)) continue;
        if (p->awaited && now_ns - p->asked_ns < ASK_LATER) continue;
        p->asked++;
        p->awaited = true;
        send_all_posted(r); /* nothing is in front of the question */
        p->asked_ns = clock_now_ns();
        post(r, i, RANK_PING, 0, &p->asked, sizeof p->asked);
        send_all_posted(r);
        r->hot_until_ns = now_ns + HOT_NS;
    }
}

/* Before it has joined nobody else reads or writes join_rc but under `joining`. */
static void join_look(struct rank *r, uint64_t since_ns, uint64_t now_ns) {
    if (now_ns - since_ns < JOIN_S * KVF_NS_PER_S) return;
    pthread_mutex_lock(&r->joining);
    bool waits = r->join_rc == 1;
    pthread_mutex_unlock(&r->joining);
    if (!waits) return;
    unsigned i = 0;
    while (r->number == 0 && i + 1 < r->count && r->peers[i].here) i++;
    snprintf(r->why, sizeof r->why, "rank %u of %u has not come within %d s", i, r->count, JOIN_S);
    join_done(r, -1);
}

static void serve_sleep(struct rank *r, uint64_t sleep_us) {
    struct pollfd p[] = {{.fd = r->wake_fd, .events = POLLIN}, {.fd = r->launcher_fd, .events = POLLIN}};
    struct timespec limit = {0, (long)sleep_us * 1000};
    uint64_t n;
    if (ppoll(p, 2, &limit, NULL) <= 0) return;
    if (p[0].revents) (void)!read(r->wake_fd, &n, sizeof n);
    if (!p[1].revents) return;
    r->launcher_fd = -1;
    r->gone();
}

/* Nothing has come since last_ns. A long message on its way wants looks on both sides. */
static void serve_rest(struct rank *r, uint64_t sleep_us, uint64_t last_ns, uint64_t now_ns) {
    uint64_t awaited_ns = atomic_load(&r->awaited_ns), keen_ns = awaited_ns > 0 ? AWAIT_NS : KEEN_NS;
    bool keen = awaited_ns > 0 || (r->under_way && atomic_load(&r->hurry));
    if (!keen)
        serve_sleep(r, sleep_us);
    else if (now_ns < kvf_max(awaited_ns, last_ns) + keen_ns)
        sched_yield(); /* who computes on this processor goes first */
    else
        serve_sleep(r, LOOK_LEAST_US);
}

/* A rank that takes no message for LEAVE_NS is gone, or ends as well; but rank 0 needs what is sent to it,
 * and may be late. */
static bool leaves(const struct rank *r, uint64_t left_ns, uint64_t now_ns) {
    bool waits = r->number > 0 && now_ns < atomic_load(&r->peers[0].heard_ns) + RANK_LOST_NS;
    return now_ns > left_ns + LEAVE_NS && !waits;
}

static void serve(struct rank *r) {
    uint64_t sleep_us = r->look_us, left_ns = 0, last_ns = 0, begun_ns = clock_now_ns();
    for (;;) {
        uint64_t now = clock_now_ns();
        bool leaving = atomic_load(&r->leaving), any = send_all_posted(r);
        if (leaving && left_ns == 0) left_ns = now;
        forget_sent(r);
        while (receive_one(r)) any = true;
        tell(r, now);
        join_look(r, begun_ns, now);
        if (leaving && !r->under_way && !any) break;
        if (leaving && leaves(r, left_ns, now)) break;
        uint64_t most_us = atomic_load(&r->hurry) ? LOOK_HURRY_US : LOOK_MOST_US;
        if (any || now < r->hot_until_ns) {
            sleep_us = r->look_us;
            if (now < r->hot_until_ns && r->number != 0 && !any) sched_yield();
        } else if (sleep_us < most_us) {
            sleep_us *= 2;
        }
        if (any)
            last_ns = now;
        else
            serve_rest(r, sleep_us, last_ns, now);
    }
}

/* Signals that the process takes in a thread of its own. */
static void signals_block(void) {
    static const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGPIPE};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++) sigaddset(&set, blocked[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *thread_main(void *arg) {
    struct rank *r = arg;
    signals_block();
    if (r->link->begin(&r->number, &r->count, r->why, sizeof r->why) != 0) {
        join_done(r, -1);
        return NULL;
    }
    r->peers = mem_zalloc(r->count, sizeof *r->peers);
    uint64_t now = clock_now_ns();
    for (unsigned i = 0; i < r->count; i++) atomic_store(&r->peers[i].heard_ns, now);
    char host[RANK_HOST] = "", boot[40] = "";
    struct buf hello = {0};
    host_identity(host, sizeof host, boot, sizeof boot);
    buf_addf(&hello, "%s %s %s", build_version(), host[0] ? host : "unknown", boot[0] ? boot : "unknown");
    if (r->number == 0)
        hello_take(r, 0, hello.data, hello.len + 1);
    else
        post(r, 0, RANK_HELLO, 0, hello.data, hello.len + 1);
    buf_free(&hello);
    serve(r);
    if (atomic_load(&r->orderly)) r->link->end();
    return NULL;
}

/* ---- joining and leaving ---- */

static void rank_free(struct rank *r) {
    struct rank_message *m;
    while ((m = r->first_in) != NULL) {
        r->first_in = m->next;
        free(m);
    }
    for (struct sending *s = r->first_out; s;) {
        struct sending *next = s->next;
        free(s);
        s = next;
    }
    close(r->wake_fd);
    close(r->come_fd);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->joining);
    pthread_cond_destroy(&r->joined);
    free(r->peers);
    free(r);
}

static struct rank *given_up; /* what a thread that hangs may still touch */

/* MPI waits for a rank that is lost, and its thread with it; the launcher knows better. */
static int join_await(struct rank *r, struct launcher *by, struct err *e) {
    struct timespec until;
    int rc = 0;
    pthread_mutex_lock(&r->joining);
    while (r->join_rc == 1 && rc == 0) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MOST_US * 1000;
        until.tv_sec += until.tv_nsec / (long)KVF_NS_PER_S;
        until.tv_nsec %= (long)KVF_NS_PER_S;
        pthread_cond_timedwait(&r->joined, &r->joining, &until);
        if (r->join_rc == 1) rc = launcher_check(by, e);
    }
    pthread_mutex_unlock(&r->joining);
    return rc;
}

int rank_join(struct rank **out, struct launcher *by, void (*gone)(void), struct err *e) {
    struct rank *r = mem_zalloc(1, sizeof *r);
    *out = NULL;
    r->out_tail = &r->first_out;
    r->in_tail = &r->first_in;
    r->join_rc = 1;
    r->look_us = LOOK_LEAST_US;
    r->launcher_fd = launcher_fd(by);
    r->gone = gone;
    r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->come_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->joining, NULL);
    pthread_cond_init(&r->joined, NULL);
    r->library = plugin_open(&r->link, r->why, sizeof r->why);
    if (r->library && pthread_create(&r->thread, NULL, thread_main, r) == 0) {
        if (join_await(r, by, e) != 0) {
            given_up = r;
            return -(int)e->code;
        }
        if (r->join_rc != 0) {
            atomic_store(&r->leaving, true);
            pthread_join(r->thread, NULL);
        }
    } else if (r->library) {
        snprintf(r->why, sizeof r->why, "no thread for it: %s", strerror(errno));
    }
    if (r->join_rc != 0) {
        int rc = err_set(e, KVF_ERR_USAGE, "a launcher of several processes started kvfall, but %s", r->why);
        rank_free(r);
        return rc;
    }
    if (r->count > 1) {
        *out = r;
        return 0;
    }
    int rc = launcher_alone(r->link->library, e);
    rank_leave(r, true);
    return rc;
}

void rank_leave(struct rank *r, bool orderly) {
    struct timespec until;
    if (!r) return;
    atomic_store(&r->orderly, orderly);
    atomic_store(&r->leaving, true);
    wake(r->wake_fd);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    given_up = r;
    if (pthread_timedjoin_np(r->thread, NULL, &until) != 0) return; /* MPI waits for a rank that is lost */
    given_up = NULL;
    rank_free(r); /* the library stays: threads of its own may outlive this */
}

/* ---- for the control thread ---- */

unsigned rank_number(const struct rank *r) {
    return r->number;
}

unsigned rank_count(const struct rank *r) {
    return r->count;
}

void rank_send(struct rank *r, unsigned to, enum rank_kind kind, uint64_t number, const void *bytes,
               size_t len) {
    if (to == r->number) return;
    post(r, to, kind, number, bytes, len);
    wake(r->wake_fd);
}

void rank_send_all(struct rank *r, enum rank_kind kind, uint64_t number, const void *bytes, size_t len) {
    for (unsigned i = 0; i < r->count; i++) rank_send(r, i, kind, number, bytes, len);
}

void rank_next_run(struct rank *r) {
    pthread_mutex_lock(&r->lock);
    r->round++;
    pthread_mutex_unlock(&r->lock);
}

void rank_hurry(struct rank *r) {
    atomic_store(&r->hurry, true);
}

void rank_await(struct rank *r, bool awaits) {
    bool waits = atomic_exchange(&r->awaited_ns, awaits ? clock_now_ns() : 0) != 0;
    if (awaits && !waits) wake(r->wake_fd);
}

struct rank_message *rank_take(struct rank *r) {
    uint64_t n;
    struct rank_message *m = NULL, **at;
    pthread_mutex_lock(&r->lock);
    for (at = &r->first_in; *at && !m;) {
        struct rank_message *next = *at;
        if (next->round > r->round) {
            at = &next->next;
            continue;
        }
        *at = next->next;
        if (next->round == r->round)
            m = next;
        else
            free(next);
    }
    for (r->in_tail = &r->first_in; *r->in_tail;) r->in_tail = &(*r->in_tail)->next;
    if (!m) (void)!read(r->come_fd, &n, sizeof n);
    pthread_mutex_unlock(&r->lock);
    if (m) m->next = NULL;
    return m;
}

int rank_fd(const struct rank *r) {
    return r->come_fd;
}

uint64_t rank_cpu_ns(const struct rank *r) {
    struct timespec t;
    clockid_t clock;
    if (pthread_getcpuclockid(r->thread, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * KVF_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t rank_silent_ns(struct rank *r, unsigned rank) {
    uint64_t heard = atomic_load(&r->peers[rank].heard_ns), now = clock_now_ns();
    return rank == r->number || heard > now ? 0 : now - heard;
}

unsigned rank_beside(const struct rank *r) {
    return r->beside;
}

const char *rank_host(const struct rank *r, unsigned rank) {
    return r->peers[rank].host;
}

bool rank_shares_host(const struct rank *r, unsigned rank) {
    for (unsigned i = 0; i < rank; i++)
        if (same_host(&r->peers[i], &r->peers[rank])) return true;
    return false;
}

bool rank_clock_offset(struct rank *r, unsigned rank, int64_t *offset_ns, uint64_t *error_ns) {
    struct peer *p = &r->peers[rank];
    pthread_mutex_lock(&r->lock);
    *offset_ns = p->offset_ns;
    *error_ns = p->error_ns;
    bool known = p->here && answered_enough(r, p);
    pthread_mutex_unlock(&r->lock);
    return rank == r->number || known;
}
