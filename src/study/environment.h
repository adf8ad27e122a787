/* The environment of a run, as the JSON object that is stored with it. Main thread only. */
#ifndef KVF_STUDY_ENVIRONMENT_H
#define KVF_STUDY_ENVIRONMENT_H

#include "scenario/scenario.h"

/* CPU, memory, kernel, GPU or the reason why there is none, build, and for each nvme path its file system,
 * mount options, device, firmware and the outcome of the direct-I/O probe. Unknown values are null. The
 * caller frees the text, which is never NULL. */
char *environment_json(const struct scenario *s);

#endif
