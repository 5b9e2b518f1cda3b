/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/options.h"
#include "slurmctld/core/ctld.h"
#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "Usage: slurmctld [OPTIONS]\n"
    "The controller of a cluster.\n\n"
    "  -c            start clean: set the saved state aside and start with an empty state\n"
    "  -D            stay in the foreground, and also log to standard error\n"
    "  -f FILE       read this configuration file instead of SLURM_CONF or the default file\n"
    "  -h, --help    print this help and exit\n"
    "  -i            ignore errors in the saved state: continue with the readable records\n"
    "  -L FILE       log to this file instead of SlurmctldLogFile\n"
    "  -n VALUE      set the nice value of slurmctld\n"
    "  -r            same as -R\n"
    "  -R            recover the whole state of the last run (always in effect): damaged records\n"
    "                are set aside and reported, all others are used\n"
    "  -s            change to the directory of the log file, otherwise to StateSaveLocation\n"
    "  -v            log in more detail; may be repeated\n"
    "  -V, --version print the version and exit\n"
    "      --as NAME run as this SlurmctldHost of the configuration, regardless of the host name\n"
    "      --check   read the configuration, report its errors, and exit\n"
    "      --systemd stay in the foreground, and notify the service manager when slurmctld is "
    "ready\n";

enum { OPT_CHECK = 256, OPT_SYSTEMD, OPT_AS };

static const struct option long_options[] = {
    {"as", required_argument, NULL, OPT_AS}, {"check", no_argument, NULL, OPT_CHECK},
    {"help", no_argument, NULL, 'h'},        {"systemd", no_argument, NULL, OPT_SYSTEMD},
    {"version", no_argument, NULL, 'V'},     {0},
};

bool options_parse(int argc, char **argv, struct ctld_options *o, int *status)
{
    int opt;
    *status = 0;
    while ((opt = getopt_long(argc, argv, "cDf:hiL:n:rRsvV", long_options, NULL)) != -1) {
        switch (opt) {
        case 'c':
            o->clean = true;
            break;
        case 'D':
            o->foreground = true;
            break;
        case 'f':
            o->conf_path = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return false;
        case 'i':
            o->ignore_damage = true;
            break;
        case 'L':
            o->log_file = optarg;
            break;
        case 'n':
            o->nice_value = optarg;
            break;
        case 'r': /* always done */
        case 'R':
            break;
        case 's':
            o->change_dir = true;
            break;
        case 'v':
            o->verbose++;
            break;
        case 'V':
            puts("slurm " SLURM_VERSION);
            return false;
        case OPT_AS:
            o->as = optarg;
            break;
        case OPT_CHECK:
            o->check = true;
            break;
        case OPT_SYSTEMD:
            o->systemd = o->foreground = true;
            break;
        default:
            fputs("Try 'slurmctld --help'.\n", stderr);
            *status = 1;
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "slurmctld: error: unexpected argument '%s'; try 'slurmctld --help'\n",
                argv[optind]);
        *status = 1;
        return false;
    }
    return true;
}
