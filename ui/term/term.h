/* The terminal, the only file that knows curses.
 *
 * curses writes into memory, not to the terminal: what it wants to say is sent by term_flush() through
 * a descriptor of our own that never blocks, so a terminal that stops reading blocks nothing. A picture
 * is taken only when the one before it has left (term_idle). Modes of the terminal are set and restored
 * by us, with what was saved before; the way back is kept as bytes, for handlers of crashes.
 *
 * All on the thread that opened it, but term_emergency(). One terminal a process. */
#ifndef KVF_UI_TERM_TERM_H
#define KVF_UI_TERM_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "draw/canvas.h"

struct term;

/* Whether the terminal on `fd` (standard output) can show the screen: it is one, its type is known and
 * can address the cursor, and it can be opened a second time. 0, or -KVF_ERR_UNAVAILABLE with a sentence
 * ("the terminal type \"dumb\" cannot place its cursor"). Changes nothing. */
int term_check(int fd, struct err *e);
/* Opens it and takes over the screen (unless the process is in the background: then when it no longer
 * is, see term_wake). Crash handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are installed
 * first and hand on to those before them. colour: the terminal's colours may be used. */
int term_open(struct term **out, int fd, bool colour, struct err *e);
/* Asks the terminal for its background, now and whenever the screen is taken over: the answer comes, if any
 * does, as KEY_CODE_DARK or KEY_CODE_LIGHT among the keys. */
void term_ask_background(struct term *t);
/* Gives the screen back: what is still to be sent gets `patience_ns` at most. Takes NULL. */
void term_close(struct term *t, uint64_t patience_ns);

int term_fd(const struct term *t);       /* readable when a key has come */
short term_events(const struct term *t); /* what to poll for: POLLIN, POLLOUT when something waits */
bool term_gone(const struct term *t);    /* hung up, or writing failed: nothing works any more */
bool term_active(const struct term *t);  /* false while suspended or in the background */
bool term_idle(const struct term *t);    /* nothing waits to be sent */
/* Looks whether the size has changed or the process has come to the foreground; true when all has to be
 * drawn anew. Rows and columns of the screen, at least 1. Called at every wake-up. */
bool term_wake(struct term *t, int *rows, int *cols);
/* Makes the screen look like the canvas and sends what goes at once. Only when term_idle(). */
void term_show(struct term *t, const struct canvas *c);
void term_redraw(struct term *t); /* the next picture is sent in full */
void term_flush(struct term *t);  /* sends what goes at once */
/* The next key (keys.h) or 0; for KEY_CODE_MOUSE *row and *col say where. The wheel is up and down. */
int term_key(struct term *t, int *row, int *col);
/* For Ctrl-Z: the terminal as it was, until term_resume(). */
void term_suspend(struct term *t, uint64_t patience_ns);
void term_resume(struct term *t);

/* The terminal as it was, by async-signal-safe calls alone. Any thread, any time. */
void term_emergency(void);

#endif
