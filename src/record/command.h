/* Commands from outside (screen, signals) to the engine: a bounded queue, so that a key takes no engine lock
 * and never waits. */
#ifndef KVF_RECORD_COMMAND_H
#define KVF_RECORD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#define COMMAND_LIST(X)                                                                                      \
    X(PAUSE, "pause")                                                                                        \
    X(RESUME, "resume")                                                                                      \
    X(USERS, "users")                                                                                        \
    X(GENERATION, "generation")                                                                              \
    X(AUTOSCALER, "autoscaler")                                                                              \
    X(SPEED, "speed")                                                                                        \
    X(FOLLOW, "follow")                                                                                      \
    X(MARK, "mark")                                                                                          \
    X(STOP, "stop")                                                                                          \
    X(ABORT, "abort")
#define X(id, name) COMMAND_##id,
enum command_kind { COMMAND_LIST(X) COMMANDS };
#undef X

/* The most users that can be set by hand; a scenario may begin with ten times as many. */
enum { COMMAND_USERS_MAX = 1000000, COMMAND_SPEED_ONE = 1000000 };

struct command {
    enum command_kind kind;
    uint64_t value; /* USERS: the new number; GENERATION: ns per token; SPEED: of a simulation, real time
                     is COMMAND_SPEED_ONE, 0 as fast as possible; STOP: 0 or the signal;
                     FOLLOW: the user to show in snapshots */
    char text[160]; /* MARK: the note; else the origin ("key", "signal") */
};

struct command_queue;
struct command_queue *command_queue_new(void);                      /* NULL without memory or eventfd */
void command_queue_free(struct command_queue *q);                   /* takes NULL */
bool command_put(struct command_queue *q, const struct command *c); /* any thread; false when full (64) */
bool command_take(struct command_queue *q, struct command *out);    /* engine's control thread only */
int command_fd(const struct command_queue *q); /* an eventfd readable while commands wait */

#endif
