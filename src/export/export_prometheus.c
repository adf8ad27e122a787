/* Results for a collector that reads files, such as the textfile collector of Prometheus' node exporter,
 * which knows the older text form alone. */
#include <stdlib.h>

#include "base/buf.h"
#include "export/export.h"
#include "export/openmetrics.h"

int export_prometheus(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    const struct run_record **records = mem_zalloc(count, sizeof *records);
    (void)e;
    for (size_t i = 0; i < count; i++) records[i] = &runs[i].run;
    openmetrics_results(records, count, OPENMETRICS_TEXT, out);
    free(records);
    return 0;
}
