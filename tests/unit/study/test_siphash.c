#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "study/capture/siphash.h"

/* The example of the paper's appendix A, and two of its authors' published vectors. */
static void published_vectors(void **state) {
    (void)state;
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char data[15];
    for (unsigned i = 0; i < sizeof data; i++) data[i] = (unsigned char)i;
    assert_int_equal(siphash(key, data, 15), UINT64_C(0xa129ca6149be45e5));
    assert_int_equal(siphash(key, data, 0), UINT64_C(0x726fdb47dd0e0e31));
    assert_int_equal(siphash(key, data, 1), UINT64_C(0x74f839c593dc67fd));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_vectors)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("siphash", tests, NULL, NULL);
}
