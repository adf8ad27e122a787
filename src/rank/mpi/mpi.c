/* The plugin kvfall-mpi.so: the calls of link.h on MPI. Built by mpicc, loaded only under a launcher. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/link.h"

enum { TAG = 1, LOOKS = 100 };

static char library[MPI_MAX_LIBRARY_VERSION_STRING];

static MPI_Comm all; /* the ranks of the run */

static int mpi_begin(unsigned *rank, unsigned *count, char *why, size_t len) {
    int given, r, n;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) {
        snprintf(why, len, "MPI could not be started");
        return -1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (given < MPI_THREAD_FUNNELED) {
        snprintf(why, len, "this MPI cannot be used by a program that has threads");
        MPI_Finalize();
        return -1;
    }
    if (MPI_Comm_dup(MPI_COMM_WORLD, &all) != MPI_SUCCESS) {
        snprintf(why, len, "the ranks could not be connected by %s", library);
        return -1;
    }
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(all, &r);
    MPI_Comm_size(all, &n);
    *rank = (unsigned)r;
    *count = (unsigned)n;
    return 0;
}

static void *mpi_send(unsigned to, const void *bytes, size_t len) {
    MPI_Request *request = malloc(sizeof *request);
    if (request && MPI_Isend(bytes, (int)len, MPI_BYTE, (int)to, TAG, all, request) == MPI_SUCCESS)
        return request;
    free(request);
    return NULL;
}

static bool mpi_sent(void *sending) {
    int done = 0;
    if (MPI_Test(sending, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) done = 1; /* its receiver is gone */
    if (done) free(sending);
    return done != 0;
}

/* ---- messages under way: one whose sender stands still, or has gone, holds up no other sender's ---- */

struct coming {
    struct coming *next;
    MPI_Request request;
    unsigned from;
    int len, done;
    unsigned char bytes[];
};

static struct coming *under_way; /* the oldest first */

static void coming_begin(void) {
    struct coming *c, **end = &under_way;
    int there = 0, len = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, all, &there, &status) != MPI_SUCCESS || !there) return;
    if (MPI_Get_count(&status, MPI_BYTE, &len) != MPI_SUCCESS || len < 0) return;
    if (!(c = calloc(1, sizeof *c + (size_t)len))) return;
    c->from = (unsigned)status.MPI_SOURCE;
    c->len = len;
    if (MPI_Irecv(c->bytes, len, MPI_BYTE, status.MPI_SOURCE, TAG, all, &c->request) != MPI_SUCCESS) {
        free(c);
        return;
    }
    while (*end) end = &(*end)->next;
    *end = c;
}

/* The oldest that is whole, and has none of its sender before it. */
static struct coming **coming_whole(void) {
    for (struct coming **at = &under_way; *at; at = &(*at)->next) {
        const struct coming *before = under_way;
        while (before != *at && before->from != (*at)->from) before = before->next;
        if (before != *at) continue;
        if (!(*at)->done) (void)MPI_Test(&(*at)->request, &(*at)->done, MPI_STATUS_IGNORE);
        if ((*at)->done) return at;
    }
    return NULL;
}

/* A long message comes in many pieces, each of which wants a look. */
static long mpi_arrived(unsigned *from) {
    struct coming **whole;
    coming_begin();
    for (int looks = 0; !(whole = coming_whole()) && under_way && looks < LOOKS; looks++) sched_yield();
    if (!whole) return -1;
    *from = (*whole)->from;
    return (*whole)->len;
}

static int mpi_receive(unsigned from, void *bytes, size_t len) {
    struct coming **at = coming_whole(), *c = at ? *at : NULL;
    if (!c || c->from != from || (size_t)c->len != len) return -1;
    memcpy(bytes, c->bytes, len);
    *at = c->next;
    free(c);
    return 0;
}

static void mpi_end(void) {
    MPI_Finalize();
}

__attribute__((visibility("default"))) struct rank_link kvfall_rank_link = {
    .abi = RANK_LINK_ABI,
    .library = library,
    .begin = mpi_begin,
    .send = mpi_send,
    .sent = mpi_sent,
    .arrived = mpi_arrived,
    .receive = mpi_receive,
    .end = mpi_end,
};

/* May be asked before begin(): the version is of the library. */
__attribute__((constructor)) static void name_library(void) {
    int len = 0;
    MPI_Get_library_version(library, &len);
    library[strcspn(library, "\n,")] = '\0';
    for (char *at = library; *at; at++)
        if (*at == '\t') *at = ' '; /* MPICH's is a table */
}
