/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_test_pg.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/store_pg_link.h"

#define PORT "5432"
#define START_TRIES 3000 /* of 10 ms */

static struct {
    char *bin, *dir, *url;
    uid_t uid;
    gid_t gid;
    pid_t pid, owner;
    const struct store_pq *pq;
} server;

static void skip_all(const char *name, const char *why)
{
    printf("%s: skipped: %s\n", name, why);
    exit(getenv("CI") ? 1 : 77);
}

static void give_up(const char *what)
{
    fprintf(stderr, "test server: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Finds the newest installed server. */
static char *bin_find(void)
{
    glob_t found = {0};
    char *bin = NULL;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) == 0) {
        bin = mem_strdup(found.gl_pathv[found.gl_pathc - 1]);
        *strrchr(bin, '/') = '\0';
    }
    globfree(&found);
    return bin;
}

/* Finds an unprivileged user, because the server refuses to run as root. */
static bool user_find(void)
{
    server.uid = geteuid();
    server.gid = getegid();
    if (server.uid != 0)
        return true;
    const struct passwd *entry = getpwnam("postgres");
    if (!entry)
        entry = getpwnam("nobody");
    if (!entry)
        return false;
    server.uid = entry->pw_uid;
    server.gid = entry->pw_gid;
    return true;
}

/* In the child: the server ends with the test, however the test ends. */
static void child_exec(char *const *argv)
{
    _cleanup_free_ char *log = mem_printf("%s/log", server.dir);
    if (getuid() == 0 && (setgroups(0, NULL) || setgid(server.gid) || setuid(server.uid)))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    setsid();
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (getppid() != server.owner || fd < 0 || chdir(server.dir) || dup2(fd, 1) < 0 ||
        dup2(fd, 2) < 0)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

static pid_t child_start(char *const *argv)
{
    pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0)
        child_exec(argv);
    return pid;
}

static void log_show(void)
{
    char line[512];
    _cleanup_free_ char *path = mem_printf("%s/log", server.dir);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        fputs(line, stderr);
    if (f)
        fclose(f);
}

static void cluster_make(void)
{
    _cleanup_free_ char *initdb = mem_printf("%s/initdb", server.bin);
    _cleanup_free_ char *data = mem_printf("%s/data", server.dir);
    char *const argv[] = {initdb,
                          (char *)"-D",
                          data,
                          (char *)"-U",
                          (char *)"admin",
                          (char *)"-A",
                          (char *)"trust",
                          (char *)"-E",
                          (char *)"UTF8",
                          (char *)"--no-locale",
                          (char *)"--no-sync",
                          NULL};
    int status = 0;
    pid_t pid = child_start(argv);
    if (waitpid(pid, &status, 0) != pid || status) {
        log_show();
        give_up("initdb");
    }
}

static bool server_answers(void)
{
    PGconn *conn =
        server.pq->PQconnectdbParams((const char *const[]){"dbname", "connect_timeout", NULL},
                                     (const char *const[]){server.url, "3", NULL}, 1);
    bool good = server.pq->PQstatus(conn) == CONNECTION_OK;
    server.pq->PQfinish(conn);
    return good;
}

void store_test_pg_resume(void)
{
    _cleanup_free_ char *postgres = mem_printf("%s/postgres", server.bin);
    _cleanup_free_ char *data = mem_printf("%s/data", server.dir);
    char *const argv[] = {postgres,
                          (char *)"-D",
                          data,
                          (char *)"-k",
                          server.dir,
                          (char *)"-p",
                          (char *)PORT,
                          (char *)"-c",
                          (char *)"listen_addresses=",
                          (char *)"-c",
                          (char *)"shared_buffers=32MB",
                          (char *)"-c",
                          (char *)"log_min_messages=fatal",
                          NULL};
    server.pid = child_start(argv);
    for (int i = 0; i < START_TRIES; i++) {
        if (server_answers())
            return;
        if (waitpid(server.pid, NULL, WNOHANG) == server.pid)
            break;
        poll(NULL, 0, 10);
    }
    log_show();
    give_up("it does not answer");
}

void store_test_pg_start(const char *name)
{
    struct err err = {0};
    server.bin = bin_find();
    if (!server.bin)
        skip_all(name, "there is no PostgreSQL server here (Debian: package postgresql-15)");
    if (store_pq_get(&server.pq, &err))
        skip_all(name, err.text);
    if (!user_find())
        skip_all(name, "there is no ordinary user to run a PostgreSQL server as");
    server.owner = getpid();
    server.dir = mem_strdup("/tmp/store-pg-XXXXXX");
    if (!mkdtemp(server.dir) || chmod(server.dir, 0755) ||
        chown(server.dir, server.uid, server.gid))
        give_up(server.dir);
    server.url = mem_printf("postgresql://admin@/postgres?host=%s&port=" PORT, server.dir);
    cluster_make();
    store_test_pg_resume();
}

void store_test_pg_halt(int signo)
{
    if (server.pid <= 0)
        return;
    kill(server.pid, signo);
    waitpid(server.pid, NULL, 0);
    server.pid = 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    return remove(path);
}

void store_test_pg_stop(void)
{
    if (!server.dir)
        return;
    store_test_pg_halt(SIGQUIT);
    nftw(server.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(take_ptr(server.dir));
    free(take_ptr(server.url));
    free(take_ptr(server.bin));
}

pid_t store_test_pg_pid(void)
{
    return server.pid;
}

const char *store_test_pg_dir(void)
{
    return server.dir;
}

const char *store_test_pg_url(void)
{
    return server.url;
}

char *store_test_pg_sql(const char *fmt, ...)
{
    const struct store_pq *pq = server.pq;
    _cleanup_str_ struct str sql = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&sql, fmt, ap);
    va_end(ap);
    PGconn *conn = pq->PQconnectdbParams((const char *const[]){"dbname", NULL},
                                         (const char *const[]){server.url, NULL}, 1);
    PGresult *r = pq->PQexec(conn, str_cstr(&sql));
    ExecStatusType status = pq->PQresultStatus(r);
    _cleanup_free_ char *failed =
        status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
            ? NULL
            : mem_printf("%s: %s", str_cstr(&sql), pq->PQerrorMessage(conn));
    char *value = mem_strdup(!failed && pq->PQntuples(r) ? pq->PQgetvalue(r, 0, 0) : "");
    pq->PQclear(r);
    pq->PQfinish(conn);
    if (failed)
        fail_msg("%s", failed);
    return value;
}

char *store_test_pg_schema(const char *cluster)
{
    char *name = mem_printf("sluice_%s", cluster);
    for (char *p = name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return name;
}

void store_test_pg_log(const char *cluster)
{
    _cleanup_free_ char *schema = store_test_pg_schema(cluster);
    free(store_test_pg_sql(
        "SET search_path = \"%s\";"
        "CREATE TABLE log(id bigserial PRIMARY KEY, epoch bigint, number bigint);"
        "CREATE FUNCTION log_batch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO log(epoch, number) VALUES (NEW.number >> 16, NEW.number & 65535);"
        " RETURN NULL; END $$;"
        "CREATE FUNCTION log_lead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF NEW.epoch <> OLD.epoch THEN"
        "  INSERT INTO log(epoch, number) VALUES (NEW.epoch, 0); END IF; RETURN NULL; END $$;"
        "CREATE TRIGGER log AFTER INSERT OR UPDATE ON numbered FOR EACH ROW"
        " WHEN (NEW.kind = 9 AND NEW.number > 65535) EXECUTE FUNCTION log_batch();"
        "CREATE TRIGGER log AFTER UPDATE ON lead FOR EACH ROW EXECUTE FUNCTION log_lead()",
        schema));
}

struct store_test_pg_entry *store_test_pg_log_read(const char *cluster, size_t *count)
{
    _cleanup_free_ char *schema = store_test_pg_schema(cluster);
    _cleanup_free_ char *text = store_test_pg_sql(
        "SELECT string_agg(epoch || ' ' || number, E'\n' ORDER BY id) FROM \"%s\".log", schema);
    VEC(struct store_test_pg_entry) all = {0};
    for (char *p = text; *p;) {
        struct store_test_pg_entry e;
        e.epoch = strtoull(p, &p, 10);
        e.number = strtoull(p, &p, 10);
        vec_push(&all, e);
        p += *p == '\n';
    }
    *count = all.len;
    return all.data;
}
