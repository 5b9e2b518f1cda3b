/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of users and groups; each one is looked up once. */
#pragma once

#include <stdint.h>

/* Returns the name, or the number as text. Valid until the process ends. */
const char *names_user(uint32_t uid);
const char *names_group(uint32_t gid);

/* Finds the uid of a name or a number; -1: there is none. */
int names_find_user(const char *name, uint32_t *uid);
