/* Details: a view of one object, opened from its row and closed by Esc. Constant. */
#ifndef KVF_UI_DETAIL_DETAILS_H
#define KVF_UI_DETAIL_DETAILS_H

#include "ui/panel/frame.h"

/* By kind; NULL for nothing. */
extern const struct panel_ops *const details[FRAME_KINDS];
extern const struct panel_ops detail_tier, detail_class, detail_gpu, detail_drive, detail_rank, detail_user;

#endif
