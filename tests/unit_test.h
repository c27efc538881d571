/* SPDX-License-Identifier: Apache-2.0 */
/* unit_test.h - cmocka, after the headers that it needs. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka passes a state to each test. Few tests use it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#endif
