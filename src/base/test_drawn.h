/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests with random cases: the number of cases. With a sanitizer, where a case takes five
 * times as long, a fifth of them; all cases run without sanitizers. */
#pragma once

#ifdef __has_feature
#define TEST_SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

#define TEST_DRAWN(n) (TEST_SANITIZED ? (n) / 5 : (n))
