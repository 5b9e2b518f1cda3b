/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/options.h"

#include <getopt.h>
#include <stdio.h>

#include "slurmd/node/users.h"

static const char help[] =
    "Usage: slurmd [OPTIONS]\n"
    "  -b         report a reboot: the controller ends the jobs on this node (for tests)\n"
    "  -c         end the jobs that earlier daemons left on this node\n"
    "  -C         print the hardware of this node as a line for slurm.conf, and exit\n"
    "  --conf KEYS\n"
    "             with -Z: keys of the node's line of slurm.conf, instead of the output of -C\n"
    "  --conf-server HOST[:PORT],...\n"
    "             get the configuration from these controllers, the primary one first\n"
    "  -d FILE    path of slurmstepd\n"
    "  -D         stay in the foreground, and also log to the terminal\n"
    "  --extra TEXT\n"
    "             set Extra of this node\n"
    "  -f FILE    use this configuration file\n"
    "  -G         print the generic resources of this node, and exit\n"
    "  -L FILE    log to this file instead of SlurmdLogFile\n"
    "  -M         lock the memory of slurmd, so that it is never swapped out\n"
    "  -n VALUE   set the nice value of slurmd, which steps inherit\n"
    "  -N NAME    run as the node of this name; several nodes may share a host\n"
    "  --parameters WORDS\n"
    "             additions to SlurmdParameters and to Parameters of the node; also for -C\n"
    "  -s         change to the directory of the log file, otherwise to SlurmdSpoolDir\n"
    "  --systemd  stay in the foreground, and notify the service manager when slurmd is ready\n"
    "  -v         log in more detail; may be repeated\n"
    "  -V, --version print the version, and exit\n"
    "  -Z         run as a dynamic node, which the controller creates if slurm.conf lacks it\n"
    "  -h, --help print this help, and exit\n";

enum { OPT_CONF_SERVER = 256, OPT_CONF, OPT_EXTRA, OPT_PARAMETERS, OPT_SYSTEMD, OPT_REFUSED };

/* Options of Slurm that would change behaviour and are refused: REFUSED(name, letter or 0,
   why). */
static const struct refused {
    const char *name;
    int letter;
    const char *why;
} refused[] = {
#define REFUSED(name, letter, why) {name, letter, why},
#include "slurmd/node/refused.def"
#undef REFUSED
};

#define REFUSED_COUNT ((int)(sizeof(refused) / sizeof(refused[0])))

static int print_usage(const char *what)
{
    fprintf(stderr, "slurmd: error: %s\nTry 'slurmd --help'.\n", what);
    return 1;
}

static int refuse_option(const struct refused *r)
{
    fprintf(stderr, "slurmd: error: option '%s' is not supported: %s\n", r->name, r->why);
    return 1;
}

static const struct refused *find_refused(int letter)
{
    for (int i = 0; i < REFUSED_COUNT; i++)
        if (letter == OPT_REFUSED + i || (refused[i].letter && letter == refused[i].letter))
            return &refused[i];
    return NULL;
}

static void fill_longs(struct option *longs)
{
    static const struct option ours[] = {
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {"conf", required_argument, NULL, OPT_CONF},
        {"conf-server", required_argument, NULL, OPT_CONF_SERVER},
        {"extra", required_argument, NULL, OPT_EXTRA},
        {"parameters", required_argument, NULL, OPT_PARAMETERS},
        {"systemd", no_argument, NULL, OPT_SYSTEMD},
        {USERS_OPTION, required_argument, NULL, 'U'}, /* internal use */
    };
    size_t count = 0;

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        longs[count++] = ours[i];
    for (int i = 0; i < REFUSED_COUNT; i++)
        if (!refused[i].letter)
            longs[count++] =
                (struct option){refused[i].name + 2, optional_argument, NULL, OPT_REFUSED + i};
    longs[count] = (struct option){0};
}

/* Sets an option that is a string of struct slurmd_options. Returns whether the letter is one. */
static bool read_letter(struct slurmd_options *o, int letter, char *value)
{
    const struct {
        int letter;
        bool *flag;
        char **text;
    } rows[] = {
        {'b', &o->rebooted, NULL},
        {'c', &o->clean, NULL},
        {'C', &o->print_hardware, NULL},
        {'d', NULL, &o->stepd_path},
        {'D', &o->foreground, NULL},
        {'f', NULL, &o->conf_file},
        {'G', &o->print_gres, NULL},
        {'L', NULL, &o->log_file},
        {'M', &o->lock_memory, NULL},
        {'n', NULL, &o->nice_value},
        {'N', NULL, &o->node},
        {'s', &o->change_dir, NULL},
        {'Z', &o->dynamic, NULL},
        {OPT_CONF, NULL, &o->keys},
        {OPT_CONF_SERVER, NULL, &o->conf_server},
        {OPT_EXTRA, NULL, &o->extra},
        {OPT_PARAMETERS, NULL, &o->parameters},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].letter != letter)
            continue;
        if (rows[i].flag)
            *rows[i].flag = true;
        else if (rows[i].text)
            *rows[i].text = value;
        return true;
    }
    return false;
}

int options_parse(int argc, char **argv, struct slurmd_options *o)
{
    struct option longs[16 + REFUSED_COUNT];
    int letter;

    fill_longs(longs);
    while ((letter = getopt_long(argc, argv, "bcCd:Df:F::GhL:Mn:N:svVZ", longs, NULL)) != -1) {
        const struct refused *r = find_refused(letter);
        if (r)
            return refuse_option(r);
        if (read_letter(o, letter, optarg))
            continue;
        switch (letter) {
        case 'v':
            o->verbose++;
            break;
        case OPT_SYSTEMD:
            o->systemd = o->foreground = true;
            break;
        case 'U':
            return users_look_up(optarg);
        case 'V':
            puts("slurm " SLURM_VERSION);
            return 0;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            fputs("Try 'slurmd --help'.\n", stderr);
            return 1;
        }
    }
    if (o->keys && !o->dynamic)
        return print_usage("--conf is for -Z");
    if (o->stepd_path && *o->stepd_path != '/')
        return print_usage("-d needs an absolute path");
    return optind < argc ? print_usage("it takes no arguments besides options") : -1;
}
