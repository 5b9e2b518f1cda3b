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

static const char help[] = {
#define USAGE(text) text
#include "cmd/sluice/verbs.def"
};

static const struct {
    const char *word;
    unsigned operands; /* maximum number */
    int (*run)(const struct sluice_options *o, const char *const *operand);
} verbs[] = {
#define VERB(name, operands) {#name, operands, sluice_##name},
#include "cmd/sluice/verbs.def"
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

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

static int parse_option_number(const char *option, const char *text, long long max, unsigned *out)
{
    long long value;
    if (str_parse_i64(text, 1, max, &value)) {
        cmd_error("--%s '%s' is not a number from 1 to %lld", option, text, max);
        return -1;
    }
    *out = (unsigned)value;
    return 0;
}

/* Values go into slurm.conf, so a line break would start another line there. */
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

int sluice_version(const struct sluice_options *o, const char *const *operand)
{
    puts("sluice " SLUICE_VERSION " (compatible with slurm " SLURM_VERSION ")");
    return 0;
}

static int parse_one(int opt, struct sluice_options *o)
{
    struct err err = {0};
    switch (opt) {
    case 'N':
        return parse_option_number("nodes", optarg, SLUICE_NODES_MAX, &o->nodes);
    case 'c':
        return parse_option_number("cpus", optarg, 65535, &o->cpus);
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
        return parse_option_number("iterate", optarg, 31622400, &o->iterate_sec);
    case 'q':
        cmd_set_level(true, 0);
        return 0;
    case OPT_NAME:
        return parse_name(optarg, o);
    case OPT_PORT_BASE:
        return parse_option_number("port-base", optarg, 65535, &o->port_base);
    case OPT_SET:
        return parse_set(optarg, o);
    case OPT_RENEW:
        o->renew = true;
        return 0;
    case OPT_CLEAN:
        o->clean = true;
        return 0;
    case OPT_FOR:
        return parse_option_number("for", optarg, 31622400, &o->for_sec);
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

static int refuse_verb(const char *word)
{
    _cleanup_str_ struct str known = STR_INIT;
    for (size_t i = 0; i < VERBS; i++)
        str_printf(&known, "%s%s", i + 1 == VERBS ? " or " : i ? ", " : "", verbs[i].word);
    cmd_error("unknown verb '%s': %s; see sluice --help", word, str_cstr(&known));
    return 1;
}

/* 'operand': the words after the verb, then NULL. */
static int run_verb(const char *word, const char *const *operand, const struct sluice_options *o)
{
    size_t at = 0;
    while (at < VERBS && !str_eq(verbs[at].word, word))
        at++;
    if (at == VERBS)
        return refuse_verb(word);
    for (unsigned i = 0; operand[i]; i++)
        if (i == verbs[at].operands) {
            cmd_error("unexpected argument '%s'", operand[i]);
            return 1;
        }
    return verbs[at].run(o, operand);
}

int main(int argc, char **argv)
{
    struct sluice_options o = {0};
    int opt;
    cmd_start("sluice");
    if (argc > 0)
        argv[0] = (char *)"sluice"; /* getopt puts it before its messages */
    while ((opt = getopt_long(argc, argv, "N:c:d:fhi:m:qV", long_options, NULL)) != -1) {
        if (opt == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (opt == OPT_VERSION || opt == 'V') {
            return sluice_version(&o, NULL);
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
    if (!o.dir)
        o.dir = place_default();
    char *spelled = o.dir;
    o.dir = place_real(spelled);
    free(spelled);
    size_t count = (size_t)(argc - optind - 1);
    _cleanup_free_ const char **operand = mem_new_array(const char *, count + SLUICE_OPERANDS + 1);
    for (size_t i = 0; i < count; i++)
        operand[i] = argv[optind + 1 + (int)i];
    int status = run_verb(argv[optind], operand, &o);
    vec_done(&o.set);
    free(o.dir);
    return fflush(stdout) ? 1 : status;
}
