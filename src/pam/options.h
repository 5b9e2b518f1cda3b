/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options after the module's name in a file of /etc/pam.d. */
#pragma once

#include <stdbool.h>

#include <security/pam_modules.h>

enum action { ACTION_IGNORE, ACTION_ALLOW, ACTION_DENY, ACTION_NEWEST };

struct options {
    enum action no_jobs, unknown, adopt_failure, generic_failure;
    bool join_container;
    int log_level; /* syslog level: less severe messages are dropped */
    const char *node, *service, *conf;
    bool bad; /* an option is unknown or has an invalid value */
};

/* Reports invalid options and those without effect; strings point into argv. */
void options_parse(pam_handle_t *pam, int argc, const char **argv, struct options *out);
