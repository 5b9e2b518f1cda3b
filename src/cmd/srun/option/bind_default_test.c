/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/bind_default.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/bind.h"

#define LINE_WORDS 8

static const struct {
    const char *line;             /* options of srun */
    const char *cpu_bind, *param; /* CpuBind of nodes, TaskPluginParam */
    const char *expect;           /* kind, threads per core, otherwise the kind, v(erbose) */
} rows[] = {
    {"", NULL, "", "nothing"},
    {"", "", "", "nothing"},
    {"", NULL, "cores", "3"},
    {"", NULL, "Sockets", "4"},
    {"", NULL, "None", "1"},
    {"", NULL, "verbose,threads", "2 v"},
    {"", NULL, "verbose", "0 v"},
    {"", NULL, "autobind=threads", "0 else 2"},
    {"", NULL, "SlurmdOffSpec,Autobind=Core", "0 else 3"},
    {"", NULL, "frob,coresx,c", "nothing"},
    {"", "socket", "cores", "4"},
    {"", "ldom", "cores", "5"},
    {"", "none", "cores,verbose", "1 v"},
    {"--cpu-bind=rank", "socket", "cores", "6"},
    {"--cpu-bind=none", "socket", "cores", "1"},
    {"--cpu-bind=quiet", "socket", "verbose", "4"},
    {"--cpu-bind=verbose", NULL, "", "0 v"},
    {"--hint=compute_bound", "none", "", "3 of 1"},
    {"--hint=memory_bound", NULL, "", "3 of 1"},
    {"--hint=nomultithread", NULL, "", "2 of 1"},
    {"--hint=multithread", NULL, "", "2"},
    {"--hint=none", NULL, "sockets", "4"},
    {"--threads-per-core=2", "none", "", "2 of 2"},
    {"--threads-per-core=1|--cpu-bind=cores", NULL, "", "3 of 1"},
    {"-B2", "none", "", "4"},
    {"-B2:2", NULL, "", "3"},
    {"-B2:2:1", NULL, "", "2 of 1"},
    {"-B*:*:2", NULL, "", "2 of 2"},
    {"-B*", NULL, "", "nothing"},
    {"--sockets-per-node=2", NULL, "", "nothing"},
    {"--ntasks-per-core=1", NULL, "", "3"},
    {"--ntasks-per-core=2", NULL, "", "2"},
    {"--ntasks-per-core=2|--cpu-bind=none", NULL, "", "1"},
    {"--ntasks-per-socket=2", NULL, "", "4"},
    {"--ntasks-per-socket=2|--cpu-bind=none", NULL, "", "1"},
};

static void format_default_bind(const Pb__Bind *b, struct str *out)
{
    if (!b) {
        str_puts(out, "nothing");
        return;
    }
    str_printf(out, "%d", b->kind);
    if (b->has_threads_per_core)
        str_printf(out, " of %u", b->threads_per_core);
    if (b->has_otherwise)
        str_printf(out, " else %d", b->otherwise);
    str_puts(out, b->verbose ? " v" : "");
}

static void test_default_binding_follows_from_options(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128], *rest = line, *at, *argv[LINE_WORDS] = {(char *)"srun"};
        int argc = 1, operands;
        struct opt o;
        struct arena arena;
        Pb__Bind *bind = NULL;
        _cleanup_str_ struct str got = STR_INIT;

        snprintf(line, sizeof(line), "%s", rows[i].line);
        while ((at = strsep(&rest, "|")) && *at)
            argv[argc++] = at;
        arena_init(&arena, 0);
        opt_init(&o, OPT_SRUN);
        assert_int_equal(opt_scan(&o, argc, argv, &operands, NULL), 0);
        assert_int_equal(opt_apply_argv(&o, argc, argv, NULL), 0);
        if (o.cpu_bind)
            assert_int_equal(bind_read_cpu(o.cpu_bind, &arena, &bind, NULL), 0);
        bind_imply(&o, &arena, &bind);
        bind_settle(rows[i].cpu_bind, rows[i].param, &arena, &bind);
        format_default_bind(bind, &got);
        if (strcmp(str_cstr(&got), rows[i].expect) != 0)
            fail_msg("%s, %s, %s: %s", rows[i].line, rows[i].cpu_bind, rows[i].param,
                     str_cstr(&got));
        opt_done(&o);
        arena_done(&arena);
    }
}

static void test_distribution_decides_spreading(void **state)
{
    static const struct {
        const char *dist;
        Pb__BindKind kind;
        bool expect;
    } v[] = {
        {"", PB__BIND_KIND__BIND_THREADS, true},
        {"block:block", PB__BIND_KIND__BIND_CORES, true},
        {"block:block", PB__BIND_KIND__BIND_THREADS, false},
        {"block:block:cyclic", PB__BIND_KIND__BIND_THREADS, true},
        {"block:cyclic:block", PB__BIND_KIND__BIND_CORES, false},
        {"block:*:fcyclic", PB__BIND_KIND__BIND_AUTO, true},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct dist d;
        Pb__Bind bind = PB__BIND__INIT;
        bind.kind = v[i].kind;
        assert_int_equal(dist_parse(v[i].dist, &d), 0);
        assert_int_equal(bind_spreads(&d, &bind), v[i].expect);
    }
    assert_true(bind_spreads(&(struct dist){0}, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_default_binding_follows_from_options),
                                       cmocka_unit_test(test_distribution_decides_spreading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
