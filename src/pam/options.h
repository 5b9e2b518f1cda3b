/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands behind the module's name in a file of /etc/pam.d. */
#pragma once

#include <stdbool.h>

#include <security/pam_modules.h>

enum action { ACTION_IGNORE, ACTION_ALLOW, ACTION_DENY, ACTION_NEWEST };

struct options {
    enum action no_jobs, unknown, adopt_failure, generic_failure;
    bool join_container;
    int log_level; /* of syslog: what is below it is said */
    const char *node, *service, *conf;
    bool bad; /* one of them is not known, or has a value that it cannot have */
};

/* Tells of what is wrong, and of what has no effect; the texts stay those of argv. */
void options_parse(pam_handle_t *pam, int argc, const char **argv, struct options *out);
