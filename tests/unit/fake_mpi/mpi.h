/* As much of MPI as the plugin calls, played in one process: the test is all the other ranks. */
#ifndef KVF_FAKE_MPI_H
#define KVF_FAKE_MPI_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_request *MPI_Request;
typedef int MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Info;
typedef struct {
    int MPI_SOURCE, bytes;
} MPI_Status;

enum { MPI_SUCCESS, MPI_ERR_OTHER };
enum { MPI_COMM_WORLD, MPI_COMM_SELF, MPI_ERRORS_RETURN, MPI_BYTE, MPI_THREAD_FUNNELED };
enum { MPI_ANY_SOURCE = -1, MPI_MAX_LIBRARY_VERSION_STRING = 256 };
#define MPI_STATUS_IGNORE ((MPI_Status *)NULL)

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given);
int MPI_Finalize(void);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Isend(const void *bytes, int len, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Irecv(void *bytes, int len, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *there, MPI_Status *status);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Get_library_version(char *text, int *len);

/* ---- for the test, which finds the table by its name in the plugin ---- */

struct fake_mpi {
    int size; /* ranks; the caller is rank 0 */
    /* A message has been sent to a rank; called by the thread that sends. */
    void (*on_send)(int to, const void *bytes, size_t len);
    _Atomic int gone; /* the rank to which sending fails; -1: none; of the test, read by any thread */
    /* A message of a rank, which is `whole`, or of which the last byte never comes. */
    void (*deliver)(int from, const void *bytes, size_t len, bool whole);
    void (*complete)(void); /* the last bytes come after all */
};

#endif
