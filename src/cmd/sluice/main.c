/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/size.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"

static const char help[] =
    "Usage: sluice VERB [OPTIONS]\n"
    "A private cluster on this machine, for one user, without any privilege.\n\n"
    "  up         make a cluster, or start the one that is there; returns when its nodes are up\n"
    "  down       stop it: running jobs are ended, waiting ones are kept for the next 'up'\n"
    "  status     what runs; the exit status is 0 when all of it does\n"
    "  usage      what all processes of the nodes use, by user and by job; 'usage n[1-4]': of "
    "some\n"
    "             nodes only. Of the cluster of --dir, else of $SLURM_CONF\n"
    "  state      'state export [FILE]': the controller's saved state as lines of JSON;\n"
    "             'state import FILE': into an empty place. Of the cluster of --dir, else of\n"
    "             $SLURM_CONF\n"
    "  record     'record FILE': what the cluster was asked, as a trace for slurmsim: shapes, "
    "times\n"
    "             and limits of jobs, with numbers for users, no names and no commands\n"
    "  why        'why JOBID': why the job waits: the rule, what is missing and who has it, the "
    "jobs\n"
    "             before it, when it is expected to start, and which changes would let it start, "
    "each\n"
    "             with its command. Of the cluster of --dir, else of $SLURM_CONF\n"
    "  gang       'gang [PARTITION]': the rotation of gang scheduling: slots, jobs, the next "
    "switch\n"
    "             and the share of its time that each job has run. Of the cluster of --dir, else "
    "of\n"
    "             $SLURM_CONF\n"
    "  hres       'hres [NAME]': the layers of hierarchical resources as trees, with their "
    "totals, what\n"
    "             is in use, reserved and free. Of the cluster of --dir, else of $SLURM_CONF\n"
    "  events     'events': transitions of jobs and nodes since the last call, a line each; the "
    "first\n"
    "             call begins the record. Of the cluster of --dir, else of $SLURM_CONF\n"
    "  env        print what makes a shell use it:  eval \"$(sluice env)\"\n"
    "  version    print the version\n\n"
    "Of every verb:\n"
    "  -d, --dir DIR         where the cluster lives (default: $XDG_STATE_HOME/sluice/default,\n"
    "                        or ~/.local/state/sluice/default); one cluster a directory, any\n"
    "                        number side by side\n"
    "  -q, --quiet           print errors only\n"
    "  -h, --help            print this\n\n"
    "Of 'up', for a new cluster (or with --renew):\n"
    "  -N, --nodes N         number of nodes (default 1)\n"
    "  -c, --cpus N          CPUs of each node (default: the machine's)\n"
    "  -m, --memory SIZE     memory of each node (default: its share of the machine's)\n"
    "      --name NAME       ClusterName (default: sluice)\n"
    "      --port-base PORT  use this port and the following ones (default: free ones)\n"
    "      --set KEY=VALUE   a line of slurm.conf, instead of what it had; may be repeated\n"
    "      --renew           write slurm.conf again\n"
    "      --clean           forget the jobs of the last run\n\n"
    "Of 'down':\n"
    "      --keep-jobs       let running jobs run on; the next 'up' finds them again\n\n"
    "Of 'usage', for administrators:\n"
    "      --clear           nodes count from zero again once this was printed; the period's "
    "number\n"
    "                        is in its last line, and comes again if it could not be printed\n\n"
    "Of 'record':\n"
    "      --for=SECONDS     go on for so long, or until it is interrupted, and write what came\n"
    "      --names           the names of users as well\n\n"
    "Of 'why':\n"
    "      --json            as JSON\n\n"
    "Of 'gang':\n"
    "  -i, --iterate SECONDS print it again and again\n"
    "      --json            as JSON\n\n"
    "Of 'hres':\n"
    "      --json            as JSON\n\n"
    "Of 'events':\n"
    "  -f, --follow          wait for further events, across restarts of the controller\n"
    "      --since N         the events behind number N, which acknowledges those up to N\n"
    "      --consumer NAME   whose place in the record it is (default: default); each program "
    "that\n"
    "                        follows has a name of its own\n"
    "      --forget          record no more for this consumer\n"
    "      --attempts        rows of attempts and steps that have ended, with what accounting "
    "stores\n"
    "      --json            an object in each line\n\n"
    "Of 'state import':\n"
    "      --edited          accept a file that was edited on purpose\n";

enum {
    OPT_NAME = 256,
    OPT_PORT_BASE,
    OPT_SET,
    OPT_RENEW,
    OPT_CLEAN,
    OPT_KEEP_JOBS,
    OPT_USAGE_CLEAR,
    OPT_EDITED,
    OPT_FOR,
    OPT_JSON,
    OPT_NAMES,
    OPT_SINCE,
    OPT_CONSUMER,
    OPT_FORGET,
    OPT_ATTEMPTS,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"attempts", no_argument, NULL, OPT_ATTEMPTS},
    {"clean", no_argument, NULL, OPT_CLEAN},
    {"clear", no_argument, NULL, OPT_USAGE_CLEAR},
    {"consumer", required_argument, NULL, OPT_CONSUMER},
    {"cpus", required_argument, NULL, 'c'},
    {"dir", required_argument, NULL, 'd'},
    {"edited", no_argument, NULL, OPT_EDITED},
    {"follow", no_argument, NULL, 'f'},
    {"for", required_argument, NULL, OPT_FOR},
    {"forget", no_argument, NULL, OPT_FORGET},
    {"help", no_argument, NULL, 'h'},
    {"iterate", required_argument, NULL, 'i'},
    {"json", no_argument, NULL, OPT_JSON},
    {"keep-jobs", no_argument, NULL, OPT_KEEP_JOBS},
    {"memory", required_argument, NULL, 'm'},
    {"name", required_argument, NULL, OPT_NAME},
    {"names", no_argument, NULL, OPT_NAMES},
    {"nodes", required_argument, NULL, 'N'},
    {"port-base", required_argument, NULL, OPT_PORT_BASE},
    {"quiet", no_argument, NULL, 'q'},
    {"renew", no_argument, NULL, OPT_RENEW},
    {"set", required_argument, NULL, OPT_SET},
    {"since", required_argument, NULL, OPT_SINCE},
    {"version", no_argument, NULL, OPT_VERSION},
    {0},
};

static int parse_number(const char *option, const char *text, long long max, unsigned *out)
{
    long long value;
    if (str_parse_i64(text, 1, max, &value)) {
        cmd_error("--%s '%s' is not a number from 1 to %lld", option, text, max);
        return -1;
    }
    *out = (unsigned)value;
    return 0;
}

/* Values go into slurm.conf: a line break would be a line of its own there. */
static int parse_set(const char *text, struct sluice_options *o)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || strpbrk(text, "\r\n")) {
        cmd_error("--set '%s' is not KEY=VALUE", text);
        return -1;
    }
    vec_push(&o->set, text);
    return 0;
}

static int parse_name(const char *text, struct sluice_options *o)
{
    if (!*text || strlen(text) > 40 ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(text)) {
        cmd_error("--name '%s': a cluster's name has 1 to 40 of a-z, 0-9, '-' and '_'", text);
        return -1;
    }
    o->cluster = text;
    return 0;
}

static int parse_since(const char *text, struct sluice_options *o)
{
    long long number;
    if (str_parse_i64(text, 0, INT64_MAX, &number)) {
        cmd_error("--since '%s' is not the number of an event", text);
        return -1;
    }
    o->since_given = true;
    o->since = (uint64_t)number;
    return 0;
}

static void print_version(void)
{
    puts("sluice " SLUICE_VERSION " (compatible with slurm " SLURM_VERSION ")");
}

static int parse_one(int opt, struct sluice_options *o)
{
    struct err err = {0};
    switch (opt) {
    case 'N':
        return parse_number("nodes", optarg, SLUICE_NODES_MAX, &o->nodes);
    case 'c':
        return parse_number("cpus", optarg, 65535, &o->cpus);
    case 'd':
        free(o->dir);
        o->dir_given = true;
        o->dir = path_absolute(optarg, NULL);
        return 0;
    case 'm':
        if (size_parse_mib(optarg, &o->memory_mib, &err) || o->memory_mib == 0) {
            cmd_error("--memory '%s' is not a size", optarg);
            return -1;
        }
        return 0;
    case 'i':
        return parse_number("iterate", optarg, 31622400, &o->iterate_sec);
    case 'q':
        cmd_set_level(true, 0);
        return 0;
    case OPT_NAME:
        return parse_name(optarg, o);
    case OPT_PORT_BASE:
        return parse_number("port-base", optarg, 65535, &o->port_base);
    case OPT_SET:
        return parse_set(optarg, o);
    case OPT_RENEW:
        o->renew = true;
        return 0;
    case OPT_CLEAN:
        o->clean = true;
        return 0;
    case OPT_FOR:
        return parse_number("for", optarg, 31622400, &o->for_sec);
    case OPT_JSON:
        o->json = true;
        return 0;
    case 'f':
        o->follow = true;
        return 0;
    case OPT_FORGET:
        o->forget = true;
        return 0;
    case OPT_ATTEMPTS:
        o->attempts = true;
        return 0;
    case OPT_CONSUMER:
        o->consumer = optarg;
        return 0;
    case OPT_SINCE:
        return parse_since(optarg, o);
    case OPT_NAMES:
        o->names = true;
        return 0;
    case OPT_USAGE_CLEAR:
        o->clear = true;
        return 0;
    case OPT_EDITED:
        o->edited = true;
        return 0;
    case OPT_KEEP_JOBS:
        o->keep_jobs = true;
        return 0;
    default:
        return -1;
    }
}

void sluice_choose(const struct sluice_options *o)
{
    if (!o->dir_given && (getenv("SLURM_CONF") || !place_has_cluster(o->dir)))
        return;
    _cleanup_free_ char *path = place_path(o->dir, "slurm.conf");
    setenv("SLURM_CONF", path, 1);
}

/* 'operand', 'further': NULL, or what follows the verb. */
static int run_verb(const char *verb, const char *operand, const char *further,
                    const struct sluice_options *o)
{
    if (str_eq(verb, "state"))
        return sluice_state(o, operand, further);
    if (further) {
        cmd_error("unexpected argument '%s'", further);
        return 1;
    }
    if (str_eq(verb, "usage"))
        return sluice_usage(o, operand);
    if (str_eq(verb, "record"))
        return sluice_record(o, operand);
    if (str_eq(verb, "why"))
        return sluice_why(o, operand);
    if (str_eq(verb, "gang"))
        return sluice_gang(o, operand);
    if (str_eq(verb, "hres"))
        return sluice_hres(o, operand);
    if (operand) {
        cmd_error("unexpected argument '%s'", operand);
        return 1;
    }
    if (str_eq(verb, "up"))
        return sluice_up(o);
    if (str_eq(verb, "down"))
        return sluice_down(o);
    if (str_eq(verb, "status"))
        return sluice_status(o);
    if (str_eq(verb, "events"))
        return sluice_events(o);
    if (str_eq(verb, "env"))
        return sluice_env(o);
    if (str_eq(verb, "version")) {
        print_version();
        return 0;
    }
    cmd_error(
        "unknown verb '%s': up, down, status, usage, record, why, gang, hres, events, state, env "
        "or version; "
        "see "
        "sluice --help",
        verb);
    return 1;
}

int main(int argc, char **argv)
{
    struct sluice_options o = {0};
    int opt;
    cmd_start("sluice");
    if (argc > 0)
        argv[0] = (char *)"sluice"; /* what getopt puts before its messages */
    while ((opt = getopt_long(argc, argv, "N:c:d:fhi:m:qV", long_options, NULL)) != -1) {
        if (opt == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (opt == OPT_VERSION || opt == 'V') {
            print_version();
            return 0;
        }
        if (opt == '?')
            cmd_say("see sluice --help");
        if (opt == '?' || parse_one(opt, &o))
            return 1;
    }
    if (optind == argc) {
        fputs(help, stderr);
        return 1;
    }
    if (argc - optind > 3) {
        cmd_error("unexpected argument '%s'", argv[optind + 3]);
        return 1;
    }
    if (!o.dir)
        o.dir = place_default();
    char *spelled = o.dir;
    o.dir = place_real(spelled);
    free(spelled);
    int status = run_verb(argv[optind], argc - optind > 1 ? argv[optind + 1] : NULL,
                          argc - optind > 2 ? argv[optind + 2] : NULL, &o);
    vec_done(&o.set);
    free(o.dir);
    return fflush(stdout) ? 1 : status;
}
