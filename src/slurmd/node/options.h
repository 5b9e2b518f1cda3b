/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of slurmd's command line. Strings point into argv. */
#pragma once

#include <stdbool.h>

struct slurmd_options {
    char *conf_file, *conf_server, *node, *keys, *extra, *log_file, *nice_value, *stepd_path,
        *parameters;
    bool rebooted; /* -b: report a reboot */
    bool dynamic, foreground, clean, print_hardware, print_gres, lock_memory, change_dir, systemd;
    unsigned verbose;
};

/* Returns -1 if slurmd is to run, otherwise the exit status. */
int options_parse(int argc, char **argv, struct slurmd_options *o);
