/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that speaks PMI-2 as MPICH's library does, written from the protocol. Without an
 * operand it goes through all of it and prints one line; with one it does that: spawn, crowd,
 * parent (and child, which that one spawns), abort, nonsense.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd;
static char answer[70000];

static void die(const char *what)
{
    fprintf(stderr, "pmi2: %s: \"%s\"\n", what, answer);
    exit(1);
}

static void take(size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = read(fd, answer + got, len - got);

        if (n <= 0)
            die("read");
        got += (size_t)n;
    }
    answer[len] = '\0';
}

static void say(const char *text, size_t len)
{
    if (write(fd, text, len) != (ssize_t)len)
        die("write");
}

/* Sends a command and reads its answer. */
static void ask(const char *fmt, ...)
{
    char body[4096], whole[4200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(body, sizeof(body), fmt, ap);
    va_end(ap);
    say(whole, (size_t)snprintf(whole, sizeof(whole), "%-6zu%s", strlen(body), body));
    take(6);
    take((size_t)atoi(answer));
}

/* A word of the answer; static. */
static const char *word(const char *name)
{
    static char value[8][1100];
    static unsigned turn;
    char *to = value[++turn % 8], wanted[40];
    const char *at;

    snprintf(wanted, sizeof(wanted), ";%s=", name);
    at = strstr(answer, wanted);
    if (!at)
        die(name);
    for (at += strlen(wanted); *at && (*at != ';' || at[1] == ';'); at++) {
        if (*at == ';')
            at++;
        *to++ = *at;
    }
    *to = '\0';
    return value[turn % 8];
}

static void must(const char *name, const char *value)
{
    if (strcmp(word(name), value))
        die(name);
}

static void begin(void)
{
    static const char init[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    static const char welcome[] = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";

    fd = atoi(getenv("PMI_FD"));
    say(init, sizeof(init) - 1);
    take(sizeof(welcome) - 1);
    if (strcmp(answer, welcome))
        die("init");
    ask("cmd=fullinit;pmirank=%s;threaded=FALSE;", getenv("PMI_RANK"));
    must("rc", "0");
}

static int exchange(int rank, int size)
{
    char value[64];
    int found = 0;

    ask("cmd=kvs-put;key=card-%d;value=of;;%d=;", rank, rank);
    must("rc", "0");
    ask("cmd=kvs-fence;");
    must("rc", "0");
    for (int i = 0; i < size; i++) {
        ask("cmd=kvs-get;thrid=0x%x;jobid=any;srcid=%d;key=card-%d;", i, i, i);
        snprintf(value, sizeof(value), "of;%d=", i);
        must("found", "TRUE");
        found += !strcmp(word("value"), value);
    }
    return found;
}

/* Three children of two commands, and what they find of who has asked for them. */
static void parent(const char *self)
{
    ask("cmd=spawn;thrid=1;ncmds=2;preputcount=1;ppkey0=PORT;ppval0=x;;y;"
        "subcmd=%s;maxprocs=2;argc=2;argv0=child;argv1=a;infokeycount=0;"
        "subcmd=%s;maxprocs=1;argc=2;argv0=child;argv1=b;infokeycount=1;infokey0=soft;infoval0=1;",
        self, self);
    printf("parent: %s %s\n", word("rc"), word("jobid"));
}

static void child(const char *argument)
{
    char rank[16], size[16], app[16], of[64];

    strcpy(rank, word("rank"));
    strcpy(size, word("size"));
    strcpy(app, word("appnum"));
    strcpy(of, word("spawner-jobid"));
    ask("cmd=kvs-get;jobid=any;srcid=0;key=PORT;");
    printf("child %s of %s, command %s, of %s: <%s> <%s>\n", rank, size, app, of, word("value"),
           argument);
}

static void tell_all(int rank, int size)
{
    char job[64], universe[16], mapping[1100];
    int pairs, leads = !strcmp(getenv("SLURM_LOCALID"), "0");

    ask("cmd=job-getid;");
    strcpy(job, word("jobid"));
    ask("cmd=info-getjobattr;key=universeSize;");
    strcpy(universe, word("value"));
    ask("cmd=info-getjobattr;key=PMI_process_mapping;");
    strcpy(mapping, word("value"));
    if (leads)
        ask("cmd=info-putnodeattr;key=segment;value=%s;", getenv("SLURM_NODEID"));
    else
        ask("cmd=info-getnodeattr;key=segment;wait=TRUE;");
    if (!leads)
        must("value", getenv("SLURM_NODEID"));
    pairs = exchange(rank, size);
    if (rank == 0) {
        ask("cmd=name-publish;name=server;port=a;;port;infokeycount=0;");
        must("rc", "0");
    }
    ask("cmd=kvs-fence;");
    ask("cmd=name-lookup;name=server;infokeycount=0;");
    printf("%d of %d: job=%s universe=%s mapping=%s pairs=%d node=ok name=%s\n", rank, size, job,
           universe, mapping, pairs, word("value"));
}

int main(int argc, char **argv)
{
    static const char abortion[] = "40    cmd=abort;isworld=TRUE;msg=that was all;";
    int rank, size;

    begin();
    rank = atoi(word("rank"));
    size = atoi(word("size"));
    if (argc > 1 && (!strcmp(argv[1], "spawn") || !strcmp(argv[1], "crowd"))) {
        ask("cmd=spawn;thrid=1;ncmds=1;preputcount=0;subcmd=a;%sargc=0;",
            argv[1][0] == 'c' ? "maxprocs=1000;" : "");
        printf("%s %s\n", word("rc"), word("errmsg"));
    } else if (argc > 1 && !strcmp(argv[1], "parent")) {
        parent(argv[0]);
    } else if (argc > 2) {
        child(argv[2]);
    } else if (argc == 1) {
        tell_all(rank, size);
    } else {
        if (rank == 1)
            say(argv[1][0] == 'a' ? abortion : "999999",
                argv[1][0] == 'a' ? sizeof(abortion) - 1 : 6);
        pause();
    }
    ask("cmd=finalize;");
    return 0;
}
