/* Lines of a summary on the server behind the remote tier: its name and counters; and the size from which
 * loading beats computing again, tier by tier. */
#ifndef KVF_PAGE_SERVER_LINES_H
#define KVF_PAGE_SERVER_LINES_H

#include "draw/format.h"
#include "record/run.h"

void server_lines(struct format_page *p, const struct run_record *run); /* nothing where there is none */
void break_even_line(struct format_page *p, const struct run_record *run);

#endif
