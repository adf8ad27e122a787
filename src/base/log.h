/* Messages for people on standard error, one line each, whole lines only, any thread. While the
 * screen is up lines are held back and let out afterwards. */
#ifndef KVF_BASE_LOG_H
#define KVF_BASE_LOG_H

#include <stdbool.h>

enum log_level { KVF_LOG_ERROR, KVF_LOG_WARNING, KVF_LOG_INFO };

void log_hold(bool hold); /* true: keeps lines (the newest 1,000) until false */
void log_forget(void);    /* in a forked child: drops the parent's kept lines and keeps none */
/* Says whether the caller has left an unfinished line on the terminal; the next message overwrites it. */
void log_behind_open_line(bool open);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
