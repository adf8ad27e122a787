/* The yardstick of recorded KV events: a subscriber that throws every message away. Prints the processor
 * seconds that it took. bench_events ADDRESS MESSAGES */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { SUB = 2, SUBSCRIBE = 6, RCVMORE = 13, RCVHWM = 24 };

int main(int argc, char **argv) {
    void *zmq = dlopen("libzmq.so.5", RTLD_NOW);
    if (argc != 3 || !zmq) {
        fprintf(stderr, "bench_events: %s\n", zmq ? "give ADDRESS and MESSAGES" : dlerror());
        return 2;
    }
    void *(*ctx_new)(void), *(*socket_new)(void *, int);
    int (*set)(void *, int, const void *, size_t), (*get)(void *, int, void *, size_t *);
    int (*join)(void *, const char *), (*take)(void *, void *, size_t, int);
    *(void **)&ctx_new = dlsym(zmq, "zmq_ctx_new");
    *(void **)&socket_new = dlsym(zmq, "zmq_socket");
    *(void **)&set = dlsym(zmq, "zmq_setsockopt");
    *(void **)&get = dlsym(zmq, "zmq_getsockopt");
    *(void **)&join = dlsym(zmq, "zmq_connect");
    *(void **)&take = dlsym(zmq, "zmq_recv");
    void *socket = socket_new(ctx_new(), SUB);
    int all = 0;
    set(socket, SUBSCRIBE, "", 0);
    set(socket, RCVHWM, &all, sizeof all);
    if (join(socket, argv[1]) != 0) return 1;
    static char room[1 << 20];
    for (long left = atol(argv[2]); left > 0;) {
        int more = 0;
        size_t len = sizeof more;
        if (take(socket, room, sizeof room, 0) < 0 || get(socket, RCVMORE, &more, &len) != 0) return 1;
        left -= !more;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.6f\n", (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
