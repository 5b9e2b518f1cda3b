/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of the values of keys, and the C types of the members that hold them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum conf_value_type {
    CONF_T_STR,
    CONF_T_PATH,
    CONF_T_URL, /* shown without its password */
    CONF_T_BOOL,
    CONF_T_U32,
    CONF_T_SEC,
    CONF_T_MIN,
    CONF_T_MIB,
    CONF_T_PORT,
    CONF_T_LEVEL,
    CONF_T_USER,
    CONF_T_PERCENT /* "101.5" or "101.5%" */
};

/* The C type of the member for each key type. */
#define CONF_MEMBER_CONF_T_STR const char *
#define CONF_MEMBER_CONF_T_PATH const char *
#define CONF_MEMBER_CONF_T_URL const char *
#define CONF_MEMBER_CONF_T_BOOL bool
#define CONF_MEMBER_CONF_T_U32 uint32_t
#define CONF_MEMBER_CONF_T_SEC int64_t
/* In seconds, too; a bare number in the file is in minutes. */
#define CONF_MEMBER_CONF_T_MIN int64_t
#define CONF_MEMBER_CONF_T_MIB uint64_t
#define CONF_MEMBER_CONF_T_PORT uint16_t
#define CONF_MEMBER_CONF_T_LEVEL uint32_t
#define CONF_MEMBER_CONF_T_USER const char *
