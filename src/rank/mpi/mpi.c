/* The plugin kvfall-mpi.so: the calls of link.h on MPI. Built by mpicc, loaded only under a launcher. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rank/link.h"

enum { TAG = 1, YIELDS = 1000, WAIT_LOOKS = 100000 /* of 0.1 ms and more: 10 s at least */ };

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

static long mpi_arrived(unsigned *from) {
    int there = 0, bytes = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, all, &there, &status) != MPI_SUCCESS || !there) return -1;
    if (MPI_Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) return -1;
    *from = (unsigned)status.MPI_SOURCE;
    return bytes;
}

/* MPI_Recv would spin for ever on a message whose sender has gone: then the bytes are left to MPI. */
static int mpi_receive(unsigned from, void *bytes, size_t len) {
    static const struct timespec look = {0, 100000};
    MPI_Request request;
    int done = 0;
    void *into = malloc(len > 0 ? len : 1);
    if (!into || MPI_Irecv(into, (int)len, MPI_BYTE, (int)from, TAG, all, &request) != MPI_SUCCESS) {
        free(into);
        return -1;
    }
    for (int looks = 0; looks < YIELDS + WAIT_LOOKS; looks++) {
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done) break;
        if (looks < YIELDS)
            sched_yield();
        else
            nanosleep(&look, NULL);
    }
    if (!done) return -1;
    memcpy(bytes, into, len);
    free(into);
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
