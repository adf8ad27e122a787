#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "base/build.h"

#include <stddef.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unversioned"
#endif
#ifndef KVF_BUILD_COMPILER
#define KVF_BUILD_COMPILER __VERSION__
#endif
#ifndef KVF_BUILD_FLAGS
#define KVF_BUILD_FLAGS "unknown"
#endif
#ifndef KVF_BUILD_LIBRARIES
#define KVF_BUILD_LIBRARIES "unknown"
#endif
#ifndef KVF_BUILD_CUDA
#define KVF_BUILD_CUDA "off: built without configure"
#endif
#ifndef KVF_BUILD_BPF
#define KVF_BUILD_BPF "off: built without configure"
#endif
#ifndef KVF_BUILD_MPI
#define KVF_BUILD_MPI "off: built without configure"
#endif
#ifndef KVF_BUILD_SANITIZER
#define KVF_BUILD_SANITIZER "off: built without configure"
#endif
#ifndef KVF_BUILD_HARDENING
#define KVF_BUILD_HARDENING "off: built without configure"
#endif
#ifndef KVF_BUILD_LTO
#define KVF_BUILD_LTO "off: built without configure"
#endif
#ifndef KVF_BUILD_COVERAGE
#define KVF_BUILD_COVERAGE "off: built without configure"
#endif

/* The program has the version of the tree it was built from instead, in a file that each build makes; what is
 * not the program makes do with the one that configure was made with. */
__attribute__((weak)) const char *build_version(void) {
    return PACKAGE_VERSION;
}

const struct build_fact build_facts[] = {{"compiler", KVF_BUILD_COMPILER},
                                         {"flags", KVF_BUILD_FLAGS},
                                         {"libraries", KVF_BUILD_LIBRARIES},
                                         {"cuda", KVF_BUILD_CUDA},
                                         {"bpf", KVF_BUILD_BPF},
                                         {"mpi", KVF_BUILD_MPI},
                                         {"sanitizer", KVF_BUILD_SANITIZER},
                                         {"hardening", KVF_BUILD_HARDENING},
                                         {"lto", KVF_BUILD_LTO},
                                         {"coverage", KVF_BUILD_COVERAGE},
                                         {NULL, NULL}};

const char *build_without_cuda(void) {
#ifdef KVF_HAVE_CUDA
    return NULL;
#else
    return "CUDA is " KVF_BUILD_CUDA;
#endif
}

const char *build_without_bpf(void) {
#ifdef KVF_HAVE_BPF
    return NULL;
#else
    return "BPF is " KVF_BUILD_BPF;
#endif
}
