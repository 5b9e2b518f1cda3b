/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sluice-adopt: the part of the PAM module that talks to node daemons (docs/adr/0023). It is a
 * separate process, so that a login daemon loads none of our libraries, and is not affected by
 * failures here. Started as root with an empty environment; see result.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "pam/ask.h"
#include "pam/result.h"

#define ARENA_MAX (16u << 20)
#define MEMORY_MAX (4ull << 30)

static int parse_end(const char *hex, struct owner_end *out)
{
    uint8_t bytes[OWNER_END_SIZE];

    if (strlen(hex) != RESULT_END_HEX)
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0}, *end;

        bytes[i] = (uint8_t)strtoul(pair, &end, 16);
        if (end != pair + 2)
            return -1;
    }
    owner_end_unpack(bytes, out);
    return 0;
}

static int parse_arguments(int argc, char **argv, struct ask *a, struct err *err)
{
    long long uid, pid, job;

    if ((argc != 7 && argc != 9) || str_parse_i64(argv[1], 1, UINT32_MAX - 1, &uid) < 0 ||
        str_parse_i64(argv[2], 2, INT32_MAX, &pid) < 0 ||
        str_parse_i64(argv[3], 0, UINT32_MAX, &job) < 0)
        return err_set(err, -EINVAL, "usage: sluice-adopt is started by pam_sluice_adopt.so");
    a->uid = (uid_t)uid;
    a->pid = (pid_t)pid;
    a->job_id = (uint32_t)job;
    a->newest = !strcmp(argv[4], "newest");
    a->has_ends = argc == 9 && !parse_end(argv[7], &a->local) && !parse_end(argv[8], &a->remote);
    return 0;
}

static const char *given_value(const char *arg)
{
    return strcmp(arg, "-") != 0 ? arg : NULL;
}

static const char *how_text(const Pb__AdoptReply *m)
{
    static const char *const texts[] = {"the user's only job on this node", "it was asked for",
                                        "the login comes from it", "the newest of several"};

    return m->has_how && m->how < sizeof(texts) / sizeof(texts[0]) ? texts[m->how] : "";
}

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void take_reply(const Pb__AdoptReply *m, struct result *r)
{
    static const enum result_outcome outcomes[] = {RESULT_DONE, RESULT_NO_JOB, RESULT_UNKNOWN,
                                                   RESULT_FAILED};

    if (m->outcome < sizeof(outcomes) / sizeof(outcomes[0]))
        r->outcome = (int32_t)outcomes[m->outcome];
    r->job_id = m->job_id;
    copy_text(r->how, sizeof(r->how), how_text(m));
    copy_text(r->conf, sizeof(r->conf), m->conf_path);
    copy_text(r->tmp, sizeof(r->tmp), m->tmp);
    copy_text(r->text, sizeof(r->text), m->text);
}

static int run_request(int argc, char **argv, struct ask *a, struct result *r, struct err *err)
{
    Pb__AdoptReply *reply = NULL;
    struct conf *conf = NULL;
    int rc = parse_arguments(argc, argv, a, err);

    if (!rc && given_value(argv[6]))
        setenv("SLURM_CONF", argv[6], 1);
    if (!rc)
        rc = conf_load_own(&conf, err);
    if (!rc) {
        a->conf = conf;
        rc = ask_find_node(a, given_value(argv[5]), err);
    }
    if (!rc) {
        copy_text(r->node, sizeof(r->node), a->node);
        rc = ask_adopt(a, &reply, err);
    }
    if (!rc)
        take_reply(reply, r);
    conf_free(conf);
    return rc;
}

int main(int argc, char **argv)
{
    struct rlimit memory = {MEMORY_MAX, MEMORY_MAX}, no_core = {0, 0};
    struct result r = {.magic = RESULT_MAGIC, .outcome = RESULT_GENERIC};
    struct err err = {0};
    struct ask a = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &no_core);
    arena_init(&a.arena, ARENA_MAX);
    if (run_request(argc, argv, &a, &r, &err))
        copy_text(r.text, sizeof(r.text), err.text);
    arena_done(&a.arena);
    return path_write_all(STDOUT_FILENO, &r, sizeof(r)) ? 1 : 0;
}
