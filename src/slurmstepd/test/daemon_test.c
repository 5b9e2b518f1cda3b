/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real slurmd and slurmstepd, with this process as controller. Argument: the directory of the
 * built programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "slurmstepd/test/bench.h"

#define QUEUE_MAX 20 /* connections */

static const char *programs;

static void begin_bench(struct bench *b, const char *conf)
{
    bench_init(b, programs, conf);
    bench_start(b);
}

static bool spool_is_empty(struct bench *b, void *ctx)
{
    return !bench_count_files(b, "spool/jobs") && !bench_count_files(b, "spool/steps");
}

static void end_bench(struct bench *b)
{
    assert_true(bench_until(b, spool_is_empty, NULL));
    bench_done(b);
}

static void test_daemon_registers_its_node(void **state)
{
    struct bench b;

    begin_bench(&b, "");
    assert_string_equal(b.registered->name, BENCH_NODE);
    assert_string_equal(b.registered->version, "26.05.0");
    assert_true(b.registered->cpus >= 1 && b.registered->real_memory_mib > 0);
    assert_int_equal(b.registered->sockets * b.registered->cores * b.registered->threads,
                     b.registered->cpus);
    assert_true(strlen(b.registered->incarnation) > 40);
    end_bench(&b);
}

static bool registered_again(struct bench *b, void *ctx)
{
    return b->registrations > *(unsigned *)ctx;
}

/* Found when the configuration is read again: here, another file system is to be measured. */
static void test_changed_hardware_is_reported_at_once(void **state)
{
    struct statvfs st;
    struct bench b;
    unsigned before;
    char *path;
    FILE *f;

    if (statvfs("/dev/shm", &st))
        skip();
    begin_bench(&b, "SlurmdTimeout=0");
    before = b.registrations;
    path = mem_printf("%s/slurm.conf", b.dir);
    f = fopen(path, "a");
    fputs("TmpFS=/dev/shm\n", f);
    fclose(f);
    free(path);
    assert_int_equal(kill(b.slurmd, SIGHUP), 0);
    assert_true(bench_until(&b, registered_again, &before));
    assert_int_equal(b.registered->tmp_disk_mib, (uint64_t)st.f_blocks * st.f_frsize >> 20);
    end_bench(&b);
}

static void test_incarnation_is_kept(void **state)
{
    struct bench b;
    char *first;

    begin_bench(&b, "");
    first = mem_strdup(b.registered->incarnation);
    bench_kill(&b, SIGKILL);
    bench_start(&b);
    assert_string_equal(b.registered->incarnation, first);
    free(first);
    end_bench(&b);
}

static void test_invalid_credentials_are_refused(void **state)
{
    static const struct {
        struct bench_cred cred;
        int code;
    } vectors[] = {
        {{.job_id = 1, .life_ms = -1}, ERR_CREDENTIAL_EXPIRED},
        {{.job_id = 2, .cluster = "other"}, ERR_CREDENTIAL},
        {{.job_id = 3, .node = "n2"}, ERR_CREDENTIAL},
    };
    struct bench b;

    begin_bench(&b, "");
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        bench_launch(&b, &vectors[i].cred, "#!/bin/sh\necho >ran\n");
        const Pb__Launched *m = bench_launched(&b, vectors[i].cred.job_id);
        assert_int_equal(m->code, vectors[i].code);
        assert_int_equal(m->has_issued_at_ms, i == 0); /* refused for its time */
    }
    assert_int_equal(bench_count_files(&b, "spool/jobs"), 0);
    end_bench(&b);
}

static void test_altered_credential_is_refused(void **state)
{
    struct bench_cred c = {.job_id = 7, .step_id = STEP_ID_BATCH};
    struct bench b;

    begin_bench(&b, "");
    for (int what = 0; what < 4; what++) {
        Pb__NodeOrder order = PB__NODE_ORDER__INIT;
        Pb__LaunchBatch m = PB__LAUNCH_BATCH__INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;

        bench_sign(&b, &c, &m.cred, &m.signature);
        m.job_id = 7 + (uint32_t)what;
        if (what == 0) /* a bit of it */
            m.cred.data[m.cred.len / 2] ^= 1;
        if (what == 1 || what == 2) /* of another job than in the order; a truncated signature */
            m.signature.len -= what == 2;
        if (what == 3)
            m.signature.len = 0;
        m.spec = &spec;
        order.launch = &m;
        bench_order(&b, &order);
        assert_int_equal(bench_launched(&b, 7 + (uint32_t)what)->code, ERR_CREDENTIAL);
        m.signature.len = AUTH_CRED_SIG_SIZE;
        free(m.cred.data);
        free(m.signature.data);
    }
    end_bench(&b);
}

static void test_batch_job_runs_and_reports_its_end(void **state)
{
    struct bench_cred c = {.job_id = 42};
    const Pb__BatchEnded *m;
    struct bench b;
    char *text;

    begin_bench(&b, "");
    bench_launch(
        &b, &c,
        "#!/bin/sh\necho $GREETING $SLURM_JOB_ID $SLURMD_NODENAME $SLURM_JOB_NAME $ENVIRONMENT\n"
        "echo $SLURM_JOB_CPUS_PER_NODE $SLURM_JOB_NODELIST\n"
        "echo oops >&2; readlink /proc/self/fd/0; exit 3\n");
    assert_int_equal(bench_launched(&b, 42)->code, 0);
    m = bench_batch_ended(&b, 42);
    assert_int_equal(WEXITSTATUS(m->exit_status), 3);
    assert_true(m->gone);
    assert_true(m->usage->max_rss_kib > 0 && m->usage->tasks == 1);
    assert_true(m->usage->has_pages && m->usage->has_read_bytes && m->usage->has_write_bytes);
    assert_true(m->usage->n_most == 6 && m->usage->most[1]->value == m->usage->max_rss_kib);
    assert_true(m->usage->most[0]->value == m->usage->user_usec + m->usage->sys_usec);
    text = bench_read(&b, "slurm-42.out");
    assert_string_equal(text, "hello 42 n1 bench job BATCH\n4 n1\noops\n/dev/null\n");
    free(text);
    end_bench(&b);
}

#define NOBODY 65534

static void test_job_runs_as_its_user(void **state)
{
    struct bench_cred c = {.job_id = 42, .uid = NOBODY};
    struct bench b;
    char *text;

    if (geteuid() != 0)
        skip();
    begin_bench(&b, "");
    bench_launch(&b, &c, "#!/bin/sh\necho >ran\n");
    assert_int_equal(bench_launched(&b, 42)->code, ERR_OPEN_IO); /* our directory is not its */
    assert_non_null(strstr(bench_launched(&b, 42)->text, "Permission denied"));
    bench_terminate(&b, 42, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 42));
    assert_int_equal(chmod(b.dir, 0777), 0);
    c.job_id = 43;
    bench_launch(&b, &c,
                 "#!/bin/sh\nid -u; id -g; id -G; echo $USER $SLURM_JOB_UID\n"
                 "grep -E '^(CapEff|CapPrm)' /proc/self/status; [ -w $0 ] || cat $0 | head -1\n"
                 "echo x 2>/dev/null >$(dirname $0)/x || echo refused\n"
                 "ls $(dirname $0)/../steps 2>/dev/null || echo closed\n");
    assert_true(bench_batch_ended(&b, 43)->gone);
    text = bench_read(&b, "slurm-43.out");
    assert_string_equal(text, "65534\n65534\n65534\nnobody 65534\nCapPrm:\t0000000000000000\n"
                              "CapEff:\t0000000000000000\n#!/bin/sh\nrefused\nclosed\n");
    free(text);
    end_bench(&b);
}

static void test_script_has_three_descriptors_only(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    char *text;

    begin_bench(&b, "");
    bench_launch(&b, &c, "#!/bin/sh\nexec ls /proc/self/fd\n");
    assert_non_null(bench_batch_ended(&b, 42));
    text = bench_read(&b, "slurm-42.out");
    assert_string_equal(text, "0\n1\n2\n3\n"); /* 3: ls reads the directory */
    free(text);
    end_bench(&b);
}

static void test_repeated_order_starts_once(void **state)
{
    struct bench_cred c = {.job_id = 42};
    const char *script = "#!/bin/sh\necho run >>runs\nwhile [ ! -e go ]; do sleep 0.01; done\n";
    struct bench b;
    char *text, *go;

    begin_bench(&b, "");
    for (int i = 0; i < 3; i++)
        bench_launch(&b, &c, script);
    assert_int_equal(bench_launched(&b, 42)->code, 0);
    assert_true(bench_wait_text(&b, "runs", "run\n"));
    bench_kill(&b, SIGKILL);
    bench_start(&b);
    assert_int_equal(b.registered->n_present, 1);
    assert_int_equal(b.registered->present[0]->step_ids[0], STEP_ID_BATCH);
    bench_launch(&b, &c, script);
    go = mem_printf("%s/go", b.dir);
    close(creat(go, 0600));
    assert_true(bench_batch_ended(&b, 42)->gone);
    text = bench_read(&b, "runs");
    assert_string_equal(text, "run\n");
    for (size_t i = 0; i < b.events.len; i++)
        assert_true(!b.events.data[i]->launched || !b.events.data[i]->launched->code);
    free(text);
    free(go);
    end_bench(&b);
}

static void test_end_while_the_daemon_is_away(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    char *go;

    begin_bench(&b, "");
    bench_launch(&b, &c, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.01; done\necho over\nexit 6\n");
    bench_launched(&b, 42);
    bench_kill(&b, SIGKILL);
    go = mem_printf("%s/go", b.dir);
    close(creat(go, 0600));
    assert_true(bench_wait_text(&b, "slurm-42.out", "over"));
    bench_start(&b);
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, 6 << 8);
    free(go);
    end_bench(&b);
}

/* Opens connections to the shepherd of job 42, which it does not accept; true: the queue is
   full. */
static bool queue_up(struct bench *b, unsigned count)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    bool full = false;
    int fds[QUEUE_MAX];

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/spool/steps/42.0.%u.sock", b->dir,
             STEP_ID_BATCH);
    assert_true(count <= QUEUE_MAX);
    for (unsigned i = 0; i < count; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        full |= connect(fds[i], (struct sockaddr *)&addr, sizeof(addr)) && errno == EAGAIN;
    }
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    return full;
}

static pid_t hold_shepherd(struct bench *b)
{
    struct bench_cred c = {.job_id = 42};
    char *text;
    pid_t pid;

    begin_bench(b, "");
    bench_launch(b, &c,
                 "#!/bin/sh\ncut -d' ' -f4 /proc/$$/stat >stepd\n"
                 "while [ ! -e go ]; do sleep 0.01; done\nexit 6\n");
    assert_int_equal(bench_launched(b, 42)->code, 0);
    assert_true(bench_wait_text(b, "stepd", "\n"));
    text = bench_read(b, "stepd");
    pid = atoi(text);
    free(text);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    return pid;
}

/* A starting daemon finds it, however many came before and got no answer. */
static void test_daemon_finds_a_stopped_step_daemon(void **state)
{
    struct bench b;
    pid_t shepherd = hold_shepherd(&b);
    char *go = mem_printf("%s/go", b.dir);

    queue_up(&b, QUEUE_MAX);
    bench_kill(&b, SIGKILL);
    bench_start(&b);
    assert_int_equal(b.registered->n_present, 1);
    assert_int_equal(kill(shepherd, SIGCONT), 0);
    close(creat(go, 0600));
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, 6 << 8);
    free(go);
    end_bench(&b);
}

/* An unreachable shepherd does not block a daemon: it is considered lost. */
static void test_unreachable_step_daemon_is_considered_lost(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct bench b;
    pid_t shepherd = hold_shepherd(&b);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/spool/steps/42.0.%u.sock", b.dir,
             STEP_ID_BATCH);
    assert_int_equal(unlink(addr.sun_path), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_true(queue_up(&b, 2));
    bench_kill(&b, SIGKILL);
    bench_start(&b);
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, SIGKILL);
    assert_int_equal(kill(shepherd, SIGKILL), 0);
    close(fd);
    end_bench(&b);
}

static void test_clean_start_ends_jobs(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;

    begin_bench(&b, "");
    bench_launch(&b, &c, "#!/bin/sh\necho up\nsleep 1000\n");
    assert_true(bench_wait_text(&b, "slurm-42.out", "up"));
    bench_kill(&b, SIGKILL);
    b.clean = true;
    bench_start(&b);
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, SIGKILL);
    assert_non_null(bench_job_gone(&b, 42));
    end_bench(&b);
}

static void test_events_are_kept_until_acknowledged(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    size_t known;

    begin_bench(&b, "");
    b.hold_acks = true;
    bench_launch(&b, &c, "#!/bin/sh\nexit 0\n");
    assert_true(bench_batch_ended(&b, 42)->gone);
    known = b.events.len;
    bench_kill(&b, SIGKILL);
    b.acked = 0;
    bench_start(&b);
    assert_true(b.registered->n_present == 1 && b.registered->present[0]->ended);
    b.hold_acks = false;
    bench_kill(&b, SIGTERM);
    b.acked = 0;
    bench_start(&b);
    assert_true(bench_until(&b, spool_is_empty, NULL));
    assert_true(b.events.len >= 2 * known);
    assert_int_equal(b.events.data[b.events.len - 1]->seq, b.events.data[known - 1]->seq);
    end_bench(&b);
}

static void test_job_ends_at_its_time_limit(void **state)
{
    struct bench_cred c = {.job_id = 42, .nodes = 2};
    struct bench b;

    begin_bench(&b, "");
    bench_launch(&b, &c, "#!/bin/sh\ntrap '' TERM\necho up\nwhile :; do sleep 0.05; done\n");
    assert_true(bench_wait_text(&b, "slurm-42.out", "up"));
    bench_terminate(&b, 42, 0, 1, "TIME LIMIT");
    assert_true(bench_batch_ended(&b, 42)->timed_out);
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, SIGKILL);
    assert_int_equal(bench_job_gone(&b, 42)->epilog_status, 0);
    assert_true(
        bench_wait_text(&b, "slurm-42.out", "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 20"));
    assert_true(bench_wait_text(&b, "slurm-42.out", " DUE TO TIME LIMIT ***\n"));
    end_bench(&b);
}

static void test_terminate_unknown_job_runs_epilog_once(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    char *conf, *epilog, *text, *name;

    bench_init(&b, programs, "");
    epilog = mem_printf("%s/epilog", b.dir);
    name = mem_printf("%s/slurm.conf", b.dir);
    conf = mem_printf("Epilog=%s\n", epilog);
    text = mem_printf("#!/bin/sh\necho $SLURM_JOB_ID $SLURM_SCRIPT_CONTEXT $0 >>%s/marks\n", b.dir);
    FILE *f = fopen(epilog, "w");
    fputs(text, f);
    fclose(f);
    chmod(epilog, 0755);
    f = fopen(name, "a");
    fputs(conf, f);
    fclose(f);
    bench_start(&b);
    bench_terminate(&b, 42, 0, 0, NULL);
    bench_terminate(&b, 42, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 42));
    assert_true(bench_until(&b, spool_is_empty, NULL));
    bench_terminate(&b, 42, 0, 0, NULL);
    bench_launch(&b, &c, "#!/bin/sh\necho >ran\n");
    assert_int_equal(bench_launched(&b, 42)->code, ERR_CREDENTIAL_REVOKED);
    bench_terminate(&b, 43, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 43));
    free(text);
    text = bench_read(&b, "marks");
    free(conf);
    conf = mem_printf("42 epilog_slurmd %s\n43 epilog_slurmd %s\n", epilog, epilog);
    assert_string_equal(text, conf);
    free(text);
    free(conf);
    free(epilog);
    free(name);
    end_bench(&b);
}

/* Beside the order, or in it by a controller of an older version. */
static void order_end(struct bench *b, uint32_t job_id, bool is_old)
{
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__Terminate m = PB__TERMINATE__INIT;
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT;

    facts.job_name = "blue";
    m.job_id = about.job_id = job_id;
    m.uid = about.uid = geteuid();
    m.gid = about.gid = getegid();
    m.has_exit_status = is_old;
    about.has_exit_status = !is_old;
    m.exit_status = about.exit_status = 256;
    if (is_old)
        m.facts = &facts;
    else
        about.facts = &facts;
    order.terminate = &m;
    if (!is_old)
        order.attempt = &about;
    bench_order(b, &order);
}

static void epilog_gets_the_attempt_details_of_the_controller(void **state)
{
    _cleanup_free_ char *text = NULL;
    struct bench b;

    bench_init(&b, programs, "");
    bench_add_program(&b, "Epilog", "epilog",
                      "echo $SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_JOB_EXIT_CODE2 "
                      ">>$(dirname $0)/heard\n");
    bench_start(&b);
    for (uint32_t job_id = 42; job_id < 44; job_id++) {
        order_end(&b, job_id, job_id == 42);
        assert_non_null(bench_job_gone(&b, job_id));
    }
    text = bench_read(&b, "heard");
    assert_string_equal(text, "42 blue 1:0\n43 blue 1:0\n");
    end_bench(&b);
}

static void test_failing_prolog_drains(void **state)
{
    struct bench_cred c = {.job_id = 42};
    const Pb__Launched *m;
    struct bench b;

    begin_bench(&b, "Prolog=/bin/false");
    bench_launch(&b, &c, "#!/bin/sh\necho >ran\n");
    m = bench_launched(&b, 42);
    assert_true(m->code != 0 && m->drain);
    assert_string_equal(m->text, "Prolog /bin/false exited with status 1");
    bench_terminate(&b, 42, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 42));
    assert_false(bench_has_file(&b, "ran"));
    end_bench(&b);
}

static void test_killed_step_daemon_ends_its_job(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    char *text;
    int shell, stepd, orphan;

    begin_bench(&b, "");
    bench_launch(&b, &c,
                 "#!/bin/sh\n(setsid sh -c 'echo $$ >orphan; exec sleep 1000' &)\n"
                 "echo $$ $(awk '/PPid/ {print $2}' /proc/$$/status) >pids\nexec sleep 1000\n");
    assert_true(bench_wait_text(&b, "pids", "\n"));
    assert_true(bench_wait_text(&b, "orphan", "\n"));
    text = bench_read(&b, "pids");
    assert_int_equal(sscanf(text, "%d %d", &shell, &stepd), 2);
    free(text);
    text = bench_read(&b, "orphan");
    assert_int_equal(sscanf(text, "%d", &orphan), 1);
    free(text);
    assert_int_equal(kill(stepd, SIGKILL), 0);
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, SIGKILL);
    assert_string_equal(bench_batch_ended(&b, 42)->text, "slurmstepd was killed");
    while (!kill(shell, 0) || !kill(orphan, 0)) /* their reaping is under way */
        usleep(1000);
    end_bench(&b);
}

static void test_unwritable_output_fails_the_launch(void **state)
{
    struct bench_cred c = {.job_id = 42};
    const Pb__Launched *m;
    struct bench b;
    char *dir;

    begin_bench(&b, "");
    dir = mem_printf("%s/slurm-42.out", b.dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    bench_launch(&b, &c, "#!/bin/sh\necho >ran\n");
    m = bench_launched(&b, 42);
    assert_int_equal(m->code, ERR_OPEN_IO);
    assert_non_null(strstr(m->text, dir));
    assert_non_null(strstr(m->text, "Is a directory"));
    bench_terminate(&b, 42, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 42));
    free(dir);
    end_bench(&b);
}

static void test_descendants_end_with_the_job(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    char *text;
    int pid;

    begin_bench(&b, "");
    bench_launch(&b, &c,
                 "#!/bin/sh\n(setsid sh -c 'echo $$ >daemon; exec sleep 1000' >/dev/null 2>&1 &)\n"
                 "while [ ! -s daemon ]; do sleep 0.01; done\n");
    assert_true(bench_batch_ended(&b, 42)->gone);
    text = bench_read(&b, "daemon");
    assert_int_equal(sscanf(text, "%d", &pid), 1);
    assert_int_equal(kill(pid, 0), -1);
    free(text);
    end_bench(&b);
}

static void test_signal_reaches_the_job(void **state)
{
    struct bench_cred c = {.job_id = 42};
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__SignalJob m = PB__SIGNAL_JOB__INIT;
    struct bench b;
    char *text;

    begin_bench(&b, "");
    bench_launch(&b, &c,
                 "#!/bin/sh\ntrap 'echo usr1' USR1\ntrap 'echo bye; exit 0' USR2\necho up\n"
                 "while :; do sleep 0.01; done\n");
    assert_true(bench_wait_text(&b, "slurm-42.out", "up"));
    m.job_id = 42;
    m.signal = SIGUSR1;
    m.nonce = 1;
    order.signal = &m;
    bench_order(&b, &order); /* not for the script */
    m.has_batch_only = m.batch_only = true;
    m.nonce = 2;
    bench_order(&b, &order);
    bench_order(&b, &order); /* a repeat */
    assert_true(bench_wait_text(&b, "slurm-42.out", "usr1"));
    m.signal = SIGUSR2;
    m.nonce = 3;
    bench_order(&b, &order);
    assert_non_null(bench_batch_ended(&b, 42));
    text = bench_read(&b, "slurm-42.out");
    assert_string_equal(text, "up\nusr1\nbye\n");
    free(text);
    end_bench(&b);
}

static unsigned count_signal_events(const struct bench *b)
{
    unsigned count = 0;

    vec_foreach (&b->events, e)
        count += (*e)->signal_done != NULL;
    return count;
}

/* More signals than need to be reported, while nothing is acknowledged; then reporting
   continues. */
static void test_signals_without_end(void **state)
{
    struct bench_cred c = {.job_id = 42};
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__SignalJob m = PB__SIGNAL_JOB__INIT;
    struct bench b;

    begin_bench(&b, "");
    b.hold_acks = true;
    bench_launch(&b, &c, "#!/bin/sh\ntrap 'exit 0' USR2\necho up\nwhile :; do sleep 0.01; done\n");
    assert_true(bench_wait_text(&b, "slurm-42.out", "up"));
    m.job_id = 42;
    m.signal = SIGCONT;
    m.has_batch_only = m.batch_only = true;
    order.signal = &m;
    for (m.nonce = 1; m.nonce <= 3000; m.nonce++)
        bench_order(&b, &order);
    bench_terminate(&b, 7, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 7));
    assert_int_equal(count_signal_events(&b), 1024);
    b.hold_acks = false;
    m.signal = SIGUSR2;
    bench_order(&b, &order);
    assert_non_null(bench_batch_ended(&b, 42));
    end_bench(&b);
}

#define CRASH_JOBS 60

struct ledger {
    uint32_t from;
    unsigned wanted;
};

/* As the controller does: what is neither confirmed nor known to the node is ordered again. */
static void order_missing(struct bench *b)
{
    for (uint32_t id = 1; id <= CRASH_JOBS; id++) {
        struct bench_cred c = {.job_id = id};
        bool known = false;

        for (size_t i = 0; i < b->registered->n_present; i++)
            known |= b->registered->present[i]->job_id == id &&
                     b->registered->present[i]->n_step_ids > 0;
        for (size_t i = 0; i < b->events.len; i++) {
            const Pb__NodeEvent *e = b->events.data[i];

            known |= (e->launched && e->launched->job_id == id) ||
                     (e->batch_ended && e->batch_ended->job_id == id);
        }
        if (!known)
            bench_launch(b, &c,
                         "#!/bin/sh\necho start $SLURM_JOB_ID >>ledger\n"
                         "sleep 0.0$((SLURM_JOB_ID % 7))\necho end $SLURM_JOB_ID >>ledger\n");
    }
}

static bool have_ended(struct bench *b, void *ctx)
{
    const struct ledger *l = ctx;
    unsigned count = 0;

    for (size_t i = l->from; i < b->events.len; i++)
        count += b->events.data[i]->batch_ended != NULL;
    return count >= l->wanted;
}

static unsigned count_lines(const char *text, const char *line)
{
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, line)); at++)
        count += at == text || at[-1] == '\n';
    return count;
}

/* RELIABILITY B1 in small. */
static void test_random_kills_lose_no_job(void **state)
{
    struct ledger l = {0};
    unsigned ended[CRASH_JOBS + 1] = {0};
    struct bench b;
    char *text;

    begin_bench(&b, "");
    for (unsigned round = 0; round < 12; round++) {
        l.wanted = (round * 7) % 20;
        order_missing(&b);
        assert_true(bench_until(&b, have_ended, &l));
        bench_kill(&b, SIGKILL);
        bench_start(&b);
    }
    order_missing(&b);
    l.wanted = CRASH_JOBS;
    assert_true(bench_until(&b, have_ended, &l));
    text = bench_read(&b, "ledger");
    for (uint32_t id = 1; id <= CRASH_JOBS; id++) {
        char line[32];

        snprintf(line, sizeof(line), "start %u\n", id);
        assert_int_equal(count_lines(text, line), 1);
        snprintf(line, sizeof(line), "end %u\n", id);
        assert_int_equal(count_lines(text, line), 1);
    }
    for (size_t i = 0; i < b.events.len; i++) {
        const Pb__BatchEnded *m = b.events.data[i]->batch_ended;

        if (m) {
            assert_int_equal(m->exit_status, 0);
            ended[m->job_id]++;
        }
    }
    for (uint32_t id = 1; id <= CRASH_JOBS; id++)
        assert_int_equal(ended[id], 1);
    free(text);
    end_bench(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_daemon_registers_its_node),
        cmocka_unit_test(test_changed_hardware_is_reported_at_once),
        cmocka_unit_test(test_incarnation_is_kept),
        cmocka_unit_test(test_invalid_credentials_are_refused),
        cmocka_unit_test(test_altered_credential_is_refused),
        cmocka_unit_test(test_batch_job_runs_and_reports_its_end),
        cmocka_unit_test(test_job_runs_as_its_user),
        cmocka_unit_test(test_script_has_three_descriptors_only),
        cmocka_unit_test(test_repeated_order_starts_once),
        cmocka_unit_test(test_end_while_the_daemon_is_away),
        cmocka_unit_test(test_daemon_finds_a_stopped_step_daemon),
        cmocka_unit_test(test_unreachable_step_daemon_is_considered_lost),
        cmocka_unit_test(test_clean_start_ends_jobs),
        cmocka_unit_test(test_events_are_kept_until_acknowledged),
        cmocka_unit_test(test_job_ends_at_its_time_limit),
        cmocka_unit_test(test_terminate_unknown_job_runs_epilog_once),
        cmocka_unit_test(epilog_gets_the_attempt_details_of_the_controller),
        cmocka_unit_test(test_failing_prolog_drains),
        cmocka_unit_test(test_killed_step_daemon_ends_its_job),
        cmocka_unit_test(test_unwritable_output_fails_the_launch),
        cmocka_unit_test(test_descendants_end_with_the_job),
        cmocka_unit_test(test_signal_reaches_the_job),
        cmocka_unit_test(test_signals_without_end),
        cmocka_unit_test(test_random_kills_lose_no_job),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: daemon_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
