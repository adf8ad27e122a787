#include "ui/detail/details.h"

const struct panel_ops *const details[FRAME_KINDS] = {
    [FRAME_TIER] = &detail_tier,   [FRAME_CLASS] = &detail_class, [FRAME_GPU] = &detail_gpu,
    [FRAME_DRIVE] = &detail_drive, [FRAME_RANK] = &detail_rank,   [FRAME_USER] = &detail_user};
