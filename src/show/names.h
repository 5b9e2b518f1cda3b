/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of users and groups, each looked up once. */
#pragma once

#include <stdint.h>

/* The name, or the number as text. Valid as long as the process. */
const char *names_user(uint32_t uid);
const char *names_group(uint32_t gid);

/* The uid of a name or a number; -1 when there is none. */
int names_find_user(const char *name, uint32_t *uid);
