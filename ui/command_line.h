/* Commands typed after ":", such as "users 50" or "set theme light". Pure; any thread. */
#ifndef KVF_UI_COMMAND_LINE_H
#define KVF_UI_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/settings.h"

#define COMMAND_LINE_SET(X, id, name, argument, help) X(SET_##id, "set " name, argument, help)
/* X(id, name, argument, description) */
#define COMMAND_LINE_LIST(X)                                                                                 \
    X(VIEW, "view", "NAME", "show a view")                                                                   \
    X(USERS, "users", "NUMBER", "so many users")                                                             \
    X(PAUSE, "pause", "", "pause the run")                                                                   \
    X(RESUME, "resume", "", "go on")                                                                         \
    X(AUTOSCALER, "autoscaler", "MODE", "off, qos or capacity")                                              \
    X(GENERATION, "generation", "MODE", "none, fast or realistic")                                           \
    X(SPEED, "speed", "TIMES", "of a simulation: times real time, or max")                                   \
    X(MARK, "mark", "NOTE", "mark this moment")                                                              \
    X(TIME, "time", "TIME", "go to a run time, or to the end")                                               \
    X(FILTER, "filter", "TEXT", "show only rows with this text")                                             \
    SETTING_LIST(COMMAND_LINE_SET, X)                                                                        \
    X(SAVE, "save", "FILE", "write the screen to a .svg, .txt or .ansi file, or keep settings: config")      \
    X(HELP, "help", "", "the keys")                                                                          \
    X(QUIT, "quit", "", "end the run, or stop watching it")
#define X(id, name, argument, help) COMMAND_LINE_##id,
enum command_line_id { COMMAND_LINE_LIST(X) COMMAND_LINES };
#undef X

struct command_line {
    enum command_line_id id; /* COMMAND_LINES: there is no such command */
    const char *argument;    /* in the text that was parsed; "" when nothing follows */
};
const char *command_line_name(enum command_line_id id);
const char *command_line_argument(enum command_line_id id); /* "": it takes none */
const char *command_line_help(enum command_line_id id);
/* Parses a command; a name may be shortened while it is unique. */
struct command_line command_line_parse(const char *text);
/* Completes the typed text, names and values alike, as far as the continuation is unique; false when nothing
 * was added. */
bool command_line_complete(char *text, size_t len);
/* The words that may follow: "view, users, ...". */
char *command_line_next(const char *text, char *out, size_t len);

#endif
