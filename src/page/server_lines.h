/* Lines of a summary on the server behind the remote tier: its name and counters; on the size from which
 * loading beats computing again, tier by tier; on where the time of an nvme read and write passes; and on
 * what the drives and the power bill bear. */
#ifndef KVF_PAGE_SERVER_LINES_H
#define KVF_PAGE_SERVER_LINES_H

#include "draw/format.h"
#include "record/run.h"

void server_lines(struct format_page *p, const struct run_record *run); /* nothing where there is none */
/* The context length from which loading beats computing again, by tier; nothing where it is unknown. */
void server_break_even_line(struct format_page *p, const struct run_record *run);
/* Life and health of the drives, watts and joules; nothing where none of it is known but the bytes a day. */
void server_endurance_line(struct format_page *p, const struct run_record *run);
void server_split_line(struct format_page *p, const struct run_record *run); /* nothing without a trace */
/* Parts of the mean entry read from nvme or written to it. False where the block layer was not traced, or
 * nothing ended. */
enum split_part { SPLIT_LINE, SPLIT_KVFALL, SPLIT_KERNEL, SPLIT_DEVICE, SPLIT_PARTS };
bool server_split_shares(const struct run_record *run, enum kvf_dir dir, double share[SPLIT_PARTS]);

#endif
