#include "ui/panel/panels.h"

#define X(name) &panel_##name,
const struct panel_ops *const panels[PANELS] = {PANEL_LIST(X)};
#undef X
