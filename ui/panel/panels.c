#include "ui/panel/panels.h"

#define X(name, ...) &panel_##name,
const struct panel_ops *const panels[PANELS] = {PANEL_LIST(X)};
#undef X

int panels_key(size_t view) {
#define X(name, code, ...) code,
    static const char keys[PANELS] = {PANEL_LIST(X)};
#undef X
    return keys[view];
}
