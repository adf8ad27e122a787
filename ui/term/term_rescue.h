/* The way back to the terminal as it was, kept ready for handlers of crashes, and the handlers. One
 * terminal a process. All on the terminal's thread, but for term_emergency(). */
#ifndef KVF_UI_TERM_TERM_RESCUE_H
#define KVF_UI_TERM_TERM_RESCUE_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

enum { TERM_RESCUE_BYTES = 256 };
struct term_rescue {
    int fd;
    struct termios saved;   /* the modes to go back to */
    struct termios restart; /* ours without flow control: output that Ctrl-S holds goes on */
    char bytes[TERM_RESCUE_BYTES];
    size_t len;
};

/* From now on term_emergency() goes this way. False when an emergency is being dealt with. */
bool term_rescue_arm(const struct term_rescue *way);
/* Something has been drawn, so that the bytes are needed, not the modes alone. */
void term_rescue_drawn(void);
/* We go back ourselves. False when an emergency went first: the terminal is no longer ours. */
bool term_rescue_disarm(void);
bool term_rescue_used(void); /* an emergency has given the terminal back, or is at it */

/* Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT: the emergency, then whoever was there before.
 * Undone by false; signals that are ignored stay so. */
void term_rescue_handlers(bool install);

/* curses takes over signals that have no handler, blocked or not. Between these two calls each has one
 * of ours; a signal that comes meanwhile is sent again after it. */
void term_rescue_guard(void);
void term_rescue_unguard(void);

#endif
