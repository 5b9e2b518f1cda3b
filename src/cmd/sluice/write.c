/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/sluice/sluice.h"

/* Below the kernel's range for outgoing connections. */
#define PORT_FIRST 10000u
#define PORT_LAST 32000u
#define TRIES 200

static unsigned machine_cpus(void)
{
    size_t size = CPU_ALLOC_SIZE(16384);
    cpu_set_t *set = CPU_ALLOC(16384);
    int count = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    if (set)
        CPU_FREE(set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : online > 0 ? (unsigned)online : 1;
}

static uint64_t machine_memory_mib(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 ? (uint64_t)pages * (uint64_t)size >> 20 : 1024;
}

static bool port_is_free(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
           !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 1);
}

/* The first used port of a range; 0: all are free. */
static unsigned taken_port(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!port_is_free(first + i))
            return first + i;
    return 0;
}

/* Finds the first of 'count' free ports in a row; base 0: anywhere. -ERR_BUSY names the used one.
 */
static int machine_ports(unsigned base, unsigned count, unsigned *first, struct err *err)
{
    if (base) {
        if (base + count - 1 > 65535)
            return err_set(err, -ERR_RANGE, "%u ports from %u on do not exist", count, base);
        unsigned taken = taken_port(base, count);
        if (taken)
            return err_set(err, -ERR_BUSY,
                           "port %u is in use: give another --port-base, or none to have free "
                           "ports found",
                           taken);
        *first = base;
        return 0;
    }
    for (int i = 0; i < TRIES; i++) {
        /* Random, so that clusters that start at the same time get different ports. */
        uint32_t random;
        auth_random(&random, sizeof(random));
        unsigned at = PORT_FIRST + random % (PORT_LAST - PORT_FIRST - count);
        if (!taken_port(at, count)) {
            *first = at;
            return 0;
        }
    }
    return err_set(err, -ERR_BUSY,
                   "found no %u free ports in a row between %u and %u: give "
                   "--port-base",
                   count, PORT_FIRST, PORT_LAST);
}

#define NODE_MEMORY_MIN_MIB 64
#define SOCKET_PATH_MAX 107 /* limit of the kernel */

static char *user_name(void)
{
    const struct passwd *p = getpwuid(geteuid());
    return p ? mem_strdup(p->pw_name) : mem_printf("%u", (unsigned)geteuid());
}

static void format_head(const struct sluice_options *o, unsigned port, struct str *out)
{
    _cleanup_free_ char *user = user_name();
    char host[256] = "localhost";
    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    str_printf(out,
               "# A private cluster on this machine, written by 'sluice up'. It is an ordinary\n"
               "# slurm.conf: change it as you like, then run 'scontrol reconfigure', or 'sluice "
               "down'\n# and 'sluice up' (which keeps this file unless --renew is given).\n\n"
               "ClusterName=%s\n"
               "SlurmctldHost=%s(127.0.0.1)\n"
               "SlurmctldPort=%u\n\n"
               "# Everything runs as the user who started it.\n"
               "SlurmUser=%s\nSlurmdUser=%s\nAuthInfo=socketdir=%s/run\n\n",
               o->cluster ? o->cluster : "sluice", *host ? host : "localhost", port, user, user,
               o->dir);
    str_printf(out,
               "# Files\n"
               "StateSaveLocation=%s/state\nSlurmdSpoolDir=%s/spool/%%n\n"
               "SlurmctldPidFile=%s/run/slurmctld.pid\nSlurmdPidFile=%s/run/slurmd-%%n.pid\n"
               "SlurmctldLogFile=%s/log/slurmctld.log\nSlurmdLogFile=%s/log/slurmd-%%n.log\n\n",
               o->dir, o->dir, o->dir, o->dir, o->dir, o->dir);
}

static void format_nodes(const struct sluice_options *o, unsigned nodes, unsigned port,
                         struct str *out)
{
    unsigned cpus = o->cpus ? o->cpus : machine_cpus();
    uint64_t memory = o->memory_mib ? o->memory_mib : machine_memory_mib() / nodes;
    if (memory < NODE_MEMORY_MIN_MIB)
        memory = NODE_MEMORY_MIN_MIB;
    uint64_t per_cpu = memory / cpus ? memory / cpus : 1;
    str_printf(
        out,
        "# Scheduling: cores and memory are allocated; a job that names no memory gets its\n"
        "# CPUs' share of a node's.\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "DefMemPerCPU=%llu\nReturnToService=2\nKillWait=5\n\n"
        "# The nodes are daemons on this machine: each claims all of its CPUs and a share of\n"
        "# its memory, and is believed.\n"
        "SlurmdParameters=config_overrides\n",
        (unsigned long long)per_cpu);
    if (nodes == 1)
        str_printf(out, "NodeName=n1 NodeAddr=127.0.0.1 Port=%u", port);
    else
        str_printf(out, "NodeName=n[1-%u] NodeAddr=127.0.0.1 Port=[%u-%u]", nodes, port,
                   port + nodes - 1);
    str_printf(out, " CPUs=%u RealMemory=%llu\n\n", cpus, (unsigned long long)memory);
    str_puts(out, "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n");
}

/* The length of the subject of a slurm.conf line: its key, for a node or partition with the name.
 */
static size_t subject_len(const char *line)
{
    bool named = !strncasecmp(line, "NodeName=", strlen("NodeName=")) ||
                 !strncasecmp(line, "PartitionName=", strlen("PartitionName="));
    return named ? strcspn(line, " \t\n") : strcspn(line, " \t=\n");
}

static bool same_subject(const char *a, const char *b)
{
    size_t len = subject_len(a);
    return len == subject_len(b) && !strncasecmp(a, b, len);
}

/* Whether slurm.conf accepts only one of the two lines. */
static bool excludes_line(const char *a, const char *b)
{
    return same_subject(a, "DefMemPerNode=") && same_subject(b, "DefMemPerCPU=");
}

/* Replaces a line with the same subject by the given one, or appends the given one. */
static void put_given(const char *given, struct str *text, bool *titled)
{
    _cleanup_str_ struct str rest = STR_INIT;
    bool placed = false;
    str_puts(&rest, str_cstr(text));
    str_clear(text);
    for (const char *line = str_cstr(&rest); *line;) {
        size_t len = strcspn(line, "\n") + 1;
        bool replaced = same_subject(given, line) || excludes_line(given, line);
        if (!replaced)
            str_append(text, line, len);
        else if (!placed)
            str_printf(text, "%s\n", given);
        placed |= replaced;
        line += len;
    }
    if (placed)
        return;
    str_printf(text, "%s%s\n", *titled ? "" : "\n# Given with --set\n", given);
    *titled = true;
}

static int write_directories(const char *dir, struct err *err)
{
    static const char *const names[] = {"log", "run", "spool", "state"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_free_ char *path = place_path(dir, names[i]);
        rc = path_mkdirs(path, strcmp(names[i], "state") ? 0755 : 0700, err);
    }
    return rc;
}

/* In slurm.conf these characters would end a value, start a comment or be expanded. */
static int check_name(const char *dir, struct err *err)
{
    for (const char *s = dir; *s; s++)
        if (iscntrl((unsigned char)*s) || strchr(" #%,\"'\\", *s))
            return err_set(err, -ERR_LIMIT,
                           "%s: slurm.conf cannot hold this name: give a --dir without blanks, "
                           "quotes, backslashes, '#', '%%' and ','",
                           dir);
    return 0;
}

int write_cluster(const struct sluice_options *o, struct err *err)
{
    unsigned nodes = o->nodes ? o->nodes : 1, port = 0;
    if (check_name(o->dir, err))
        return err->code;
    if (strlen(o->dir) + strlen("/run/slurmd-n1000") > SOCKET_PATH_MAX - 20)
        return err_set(err, -ERR_LIMIT,
                       "%s is too long a name for the sockets in it: give a shorter --dir", o->dir);
    int rc = machine_ports(o->port_base, nodes + 1, &port, err);
    if (rc == 0)
        rc = write_directories(o->dir, err);
    if (rc)
        return rc;
    _cleanup_free_ char *key = place_path(o->dir, "slurm.key");
    if (access(key, F_OK))
        rc = auth_key_create(key, geteuid(), (gid_t)-1, err);
    if (rc)
        return rc;
    _cleanup_str_ struct str text = STR_INIT;
    format_head(o, port, &text);
    format_nodes(o, nodes, port + 1, &text);
    bool titled = false;
    vec_foreach (&o->set, line)
        put_given(*line, &text, &titled);
    _cleanup_free_ char *path = place_path(o->dir, "slurm.conf");
    return path_write_file(path, text.data, text.len, 0644, err);
}
