#include "rank/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

extern const char rank_launcher[]; /* mpirun beside the compiler of the plugin; of the Makefile */

#define WHERE "KVFALL_RANK_PLACE" /* name of the socket, for the processes that are started */
enum {
    START_S = 60,
    COME_S = 8, /* after the process before it; a launcher starts those of a machine in a row */
    END_S = 5,
    ENVIRONMENT_MOST = 1 << 20,
    LOOK_MS = 10,
    SAID_LOOKS = 100,
    ADDRESS_MOST = 100
};

struct launcher {
    pid_t pid;           /* 0: it has ended */
    int place_fd;        /* to the process whose place this one has */
    int said_fd;         /* what the launcher has written */
    struct pollfd *ends; /* the socket, then a connection to each process until all have joined */
    unsigned count, most;
    unsigned ready; /* processes but the first that are about to join */
    bool missed;    /* some have not come */
};

static int told_fd = -1; /* in a process that was started, but the first: to the one that started it */

/* Launchers refuse to start more processes than there are cores, and to be used by root, until told
 * otherwise. All processes are on this machine, and reach each other by its loopback. */
static void launcher_settle(void) {
    static const char *const settings[][2] = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                              {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                              {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                              {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                              {"OMPI_MCA_orte_enable_recovery", "1"},
                                              {"OMPI_MCA_btl_tcp_if_include", "lo"},
                                              {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
                                              {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                              {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                              {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 0);
}

/* ---- the place: environment of a started process, and the descriptor that MPICH names in it ---- */

extern char **environ;

static bool is_of_place(const char *variable) {
    static const char *const begins[] = {"OMPI_", "OPAL_", "ORTE_", "PMIX_", "PRTE_",
                                         "PMI_",  "MPI_",  "MPIR_", "HYD"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

/* A name in no file system, which vanishes with its sockets. */
static socklen_t address_of(struct sockaddr_un *address, const char *name) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t len = strlen(name) < ADDRESS_MOST ? strlen(name) : ADDRESS_MOST;
    memcpy(address->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/* The other end belongs to this user. */
static bool is_ours(int fd) {
    struct ucred who;
    socklen_t len = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

union ancillary {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool place_send(int fd, const struct buf *variables, int with) {
    union ancillary more = {0};
    uint32_t bytes = (uint32_t)variables->len;
    struct iovec part = {.iov_base = &bytes, .iov_len = sizeof bytes};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (with >= 0) {
        more.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof with), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&more.head), &with, sizeof with);
        m.msg_control = &more;
        m.msg_controllen = sizeof more;
    }
    if (sendmsg(fd, &m, MSG_NOSIGNAL) != (ssize_t)sizeof bytes) return false;
    for (size_t at = 0; at < variables->len;) {
        ssize_t n = send(fd, variables->data + at, variables->len - at, MSG_NOSIGNAL);
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

/* Without a process to take its place, or after that one's death, the launcher ends the others. It is told by
 * its child alone: another parent than at the start is no launcher. */
static void place_hand_over(int fd, pid_t parent) {
    const char *pmi_fd = getenv("PMI_FD");
    struct buf variables = {0};
    bool orderly = false;
    char end;
    for (char **v = environ; fd >= 0 && *v; v++)
        if (is_of_place(*v)) buf_bytes(&variables, *v, strlen(*v) + 1);
    int with = pmi_fd ? atoi(pmi_fd) : -1;
    if (fd >= 0 && place_send(fd, &variables, with)) {
        if (with >= 0) close(with);
        struct pollfd p[] = {{.fd = fd, .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, parent, 0), .events = POLLIN}};
        while (poll(p, 2, -1) < 0 && errno == EINTR) continue;
        orderly = p[0].revents != 0 && read(fd, &end, 1) == 1;
    }
    buf_free(&variables);
    if (!orderly && parent > 1 && getppid() == parent) kill(parent, SIGTERM);
}

bool launcher_stood_in(void) {
    const char *name = getenv(WHERE), *number = getenv("PMIX_RANK");
    struct sockaddr_un address;
    pid_t parent = getppid();
    if (!number) number = getenv("PMI_RANK");
    if (!name || !number) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        (connect(fd, (struct sockaddr *)&address, address_of(&address, name)) != 0 || !is_ours(fd))) {
        close(fd);
        fd = -1;
    }
    if (strcmp(number, "0") != 0) {
        told_fd = fd; /* tells that the process lives */
        return false;
    }
    place_hand_over(fd, parent);
    if (fd >= 0) close(fd);
    return true;
}

void launcher_ready(void) {
    if (told_fd >= 0) (void)place_send(told_fd, &(struct buf){0}, -1);
}

static bool place_read(int fd, char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = recv(fd, bytes, len, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* Bytes of the environment: none when a process is ready; -1: it is gone. The descriptor gets another number
 * here. */
static long place_take(int fd) {
    union ancillary more = {0};
    uint32_t len = 0;
    struct iovec part = {.iov_base = &len, .iov_len = sizeof len};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &more, .msg_controllen = sizeof more};
    int with = -1;
    if (recvmsg(fd, &m, MSG_WAITALL) != (ssize_t)sizeof len || len > ENVIRONMENT_MOST) return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    if (head && head->cmsg_type == SCM_RIGHTS) memcpy(&with, CMSG_DATA(head), sizeof with);
    char *variables = mem_zalloc(len + 1, 1);
    bool whole = place_read(fd, variables, len);
    for (char *v = variables; whole && v < variables + len; v += strlen(v) + 1) {
        char *value = strchr(v, '=');
        if (!value) continue;
        *value++ = '\0';
        setenv(v, value, 1);
        v = value;
    }
    free(variables);
    if (whole && with >= 0) {
        char number[12];
        snprintf(number, sizeof number, "%d", with);
        setenv("PMI_FD", number, 1);
    }
    return whole ? (long)len : -1;
}

int launcher_alone(const char *library, struct err *e) {
    const char *size = getenv("OMPI_COMM_WORLD_SIZE"), *number = getenv("PMIX_RANK");
    if (!size) size = getenv("PMI_SIZE");
    if ((!size || atoi(size) < 2) && (!number || atoi(number) < 1)) return 0;
    return err_set(
        e, KVF_ERR_USAGE,
        "the launcher started several processes, but the plugin for MPI found itself alone: it was built "
        "with %s; start kvfall with that MPI's mpirun, or configure it with MPICC= the launcher's mpicc",
        library);
}

/* ---- starting and ending it ---- */

/* Ctrl-C and the like are for this process, which tells the others: the launcher is in a group of its own. */
static int launcher_spawn(pid_t *pid, char *const words[], int said_fd) {
    posix_spawnattr_t how;
    posix_spawn_file_actions_t files;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, said_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, said_fd, STDERR_FILENO);
    int rc = posix_spawnp(pid, words[0], &files, &how, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    if (rc != 0) *pid = 0;
    return rc;
}

/* 0 or what posix_spawn() said. */
static int launcher_run(struct launcher *l, unsigned ranks, char *const argv[], const char *name) {
    char count[12], option[] = "-np", mpirun[PATH_MAX];
    size_t n = 0;
    while (argv[n]) n++;
    char **words = mem_zalloc(n + 4, sizeof *words);
    snprintf(count, sizeof count, "%u", ranks);
    snprintf(mpirun, sizeof mpirun, "%s", rank_launcher);
    words[0] = mpirun, words[1] = option, words[2] = count;
    memcpy(words + 3, argv, n * sizeof *words);
    launcher_settle();
    setenv(WHERE, name, 1);
    int rc = launcher_spawn(&l->pid, words, l->said_fd);
    unsetenv(WHERE);
    free(words);
    return rc;
}

static bool has_ended(struct launcher *l) {
    if (l->pid != 0 && waitpid(l->pid, NULL, WNOHANG) != 0) l->pid = 0;
    return l->pid == 0;
}

/* False when a process that was started is gone, or sends nonsense. */
static bool launcher_hear(struct launcher *l, int ms) {
    if (poll(l->ends, l->count, ms) <= 0) return true;
    for (unsigned i = 1; i < l->count; i++) {
        if (l->ends[i].revents == 0) continue;
        long bytes = place_take(l->ends[i].fd);
        if (bytes < 0) return false;
        if (bytes > 0)
            l->place_fd = l->ends[i].fd;
        else
            l->ready++;
    }
    if (l->ends[0].revents == 0) return true;
    int fd = accept4(l->ends[0].fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0 && is_ours(fd) && l->count < l->most)
        l->ends[l->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    else if (fd >= 0)
        close(fd);
    return true;
}

/* True when the first process has handed over its place, and the others are about to join: nobody waits in
 * MPI for a process that refuses its scenario, or is gone before it began. */
static bool place_await(struct launcher *l) {
    uint64_t now_ns = clock_now_ns(), until_ns = now_ns + START_S * KVF_NS_PER_S, come_ns = now_ns;
    unsigned come = l->count;
    for (; now_ns < until_ns && !has_ended(l) && launcher_hear(l, LOOK_MS); now_ns = clock_now_ns()) {
        if (l->place_fd >= 0 && l->ready == l->most - 2) return true;
        if (l->count != come) come_ns = now_ns;
        come = l->count;
        l->missed = come > 1 && come < l->most && now_ns - come_ns > COME_S * KVF_NS_PER_S;
        if (l->missed) break;
    }
    return false;
}

/* The first line of it that says something; launchers frame what they say. */
static void said_first(int fd, char *out, size_t len) {
    char text[4000] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    snprintf(out, len, "it said nothing");
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        line += strspn(line, " \t");
        if (strspn(line, "-=*") == strlen(line)) continue;
        snprintf(out, len, "%s", line);
        return;
    }
}

/* A process writes before it ends, and the launcher passes that on in its own time. */
static int launcher_failed(struct launcher *l, struct err *e) {
    static const struct timespec look = {0, LOOK_MS * KVF_NS_PER_MS};
    char said[300];
    struct stat st;
    for (int i = 0; i < SAID_LOOKS && fstat(l->said_fd, &st) == 0 && st.st_size == 0 && !has_ended(l); i++)
        nanosleep(&look, NULL);
    said_first(l->said_fd, said, sizeof said);
    if (l->missed)
        return err_set(e, KVF_ERR_USAGE,
                       "%u of the %u ranks of %s did not come within %d s of the others: %s",
                       l->most - l->count, l->most - 1, rank_launcher, COME_S, said);
    return err_set(e, KVF_ERR_USAGE, "%s did not start %u ranks, and --ranks needs it: %s", rank_launcher,
                   l->most - 1, said);
}

int launcher_start(struct launcher **out, unsigned ranks, char *const argv[], struct err *e) {
    struct launcher *l = mem_zalloc(1, sizeof *l);
    struct sockaddr_un address;
    char name[60];
    *out = l;
    l->place_fd = -1;
    l->most = ranks + 1;
    l->ends = mem_zalloc(l->most, sizeof *l->ends);
    snprintf(name, sizeof name, "kvfall-%ld-%" PRIx64, (long)getpid(), clock_now_ns());
    l->said_fd = memfd_create("mpirun", MFD_CLOEXEC);
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = 0, spawned = 0;
    l->ends[l->count++] = (struct pollfd){.fd = listening, .events = POLLIN};
    if (l->said_fd < 0 || listening < 0 ||
        bind(listening, (struct sockaddr *)&address, address_of(&address, name)) != 0 ||
        listen(listening, (int)ranks) != 0)
        rc = err_set_errno(e, KVF_ERR_USAGE, errno, "a socket for the ranks could not be made");
    else if ((spawned = launcher_run(l, ranks, argv, name)) != 0)
        rc = err_set_errno(
            e, KVF_ERR_USAGE, spawned,
            "--ranks starts %s, which cannot be had; install Open MPI or MPICH (openmpi-bin, mpich)",
            rank_launcher);
    else if (!place_await(l))
        rc = launcher_failed(l, e);
    if (rc == 0) return 0;
    launcher_end(l);
    *out = NULL;
    return rc;
}

int launcher_check(struct launcher *l, struct err *e) {
    return !l || (launcher_hear(l, 0) && !has_ended(l)) ? 0 : launcher_failed(l, e);
}

void launcher_joined(struct launcher *l) {
    while (l && l->count > 0) {
        int fd = l->ends[--l->count].fd;
        if (fd >= 0 && fd != l->place_fd) close(fd);
    }
}

int launcher_fd(const struct launcher *l) {
    return l ? l->place_fd : -1;
}

void launcher_stop(const struct launcher *l) {
    if (l && l->pid > 0) kill(l->pid, SIGTERM);
}

bool launcher_lives(const struct launcher *l) {
    siginfo_t ended = {0};
    pid_t pid = l->pid;
    return pid > 0 && waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

void launcher_end(struct launcher *l) {
    static const struct timespec look = {0, LOOK_MS * KVF_NS_PER_MS};
    static const int ways[] = {0, SIGTERM, SIGKILL};
    if (!l) return;
    launcher_joined(l);
    if (l->place_fd >= 0) {
        (void)!send(l->place_fd, "", 1, MSG_NOSIGNAL);
        close(l->place_fd);
    }
    for (size_t i = l->place_fd < 0; i < sizeof ways / sizeof *ways && !has_ended(l); i++) {
        uint64_t until_ns = clock_now_ns() + END_S * KVF_NS_PER_S;
        if (ways[i] != 0) kill(l->pid, ways[i]);
        while (!has_ended(l) && clock_now_ns() < until_ns) nanosleep(&look, NULL);
    }
    if (l->said_fd >= 0) close(l->said_fd);
    free(l->ends);
    free(l);
}
