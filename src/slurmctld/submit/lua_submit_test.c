/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's script: its possible changes, its restrictions, and its failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "slurmctld/submit/lua_submit.h"

static char path[64];

static struct lua_submit *open_text(const char *text, struct err *err)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return lua_submit_open(path, err);
}

/* Calls the script for the spec; returns the code, and the messages for the user and the log. */
static int ask_of(const char *text, Pb__JobSpec *spec, const Pb__JobSpec *before,
                  struct arena *arena, struct str *message, struct str *fault)
{
    static const struct env_part parts[] = {
        {.name = "short", .is_default = true, .is_up = true, .max_time_sec = 3600},
        {.name = "long", .max_time_sec = INT64_MAX, .priority_tier = 7}};
    static char *env[] = {"FOO=bar", "odd"};
    struct err err = {0};
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    struct lua_submit *l = open_text(text, &err);

    if (!l)
        fail_msg("%s", err.text);
    payload.env = env;
    payload.n_env = 2;
    payload.has_script = 1;
    payload.script = (ProtobufCBinaryData){9, (uint8_t *)"#!/bin/sh"};
    struct env_submit ask = {.spec = spec,
                             .before = before,
                             .payload = &payload,
                             .parts = parts,
                             .n_parts = 2,
                             .uid = 1000,
                             .job_id = before ? 12 : 0,
                             .arena = arena,
                             .message = message};
    int rc = lua_submit_ask(&l, &ask, fault, &err);
    if (rc != 0 && !message->len)
        str_puts(message, err.text);
    lua_submit_close(l);
    return rc;
}

static void assert_refusal(const char *body, int code, const char *said)
{
    _cleanup_str_ struct str message = STR_INIT, fault = STR_INIT;
    _cleanup_arena_ struct arena arena;
    _cleanup_free_ char *text =
        mem_printf("function slurm_job_submit(job_desc, part_list, submit_uid)\n%s\nend\n", body);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;

    arena_init(&arena, 0);
    spec.name = "job";
    assert_int_equal(ask_of(text, &spec, NULL, &arena, &message, &fault), code);
    if (!strstr(str_cstr(&message), said) && !strstr(str_cstr(&fault), said))
        fail_msg("%s: said \"%s\", \"%s\"", body, str_cstr(&message), str_cstr(&fault));
}

static void test_invalid_scripts_are_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"function slurm_job_submit(", ":1:"},
        {"x = 1\n", "no function slurm_job_submit()"},
        {"setmetatable(_G, {__index = function(_, name) error(name .. ' is undefined') end})\n",
         "no function slurm_job_submit()"},
        {"error('no')\n", ":1: no"},
        {"while true do end\n", "too long"},
        {"\x1bLua", "attempt to load a binary chunk"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        assert_null(open_text(rows[i].text, &err));
        if (!strstr(err.text, rows[i].said))
            fail_msg("said \"%s\"", err.text);
    }
    struct err err = {0};
    assert_null(lua_submit_open("/nonexistent/job_submit.lua", &err));
}

/* Scripts that guard their globals, as strict.lua does, and what stands for slurm_job_modify(). */
static void test_scripts_may_guard_their_globals(void **state)
{
    static const struct {
        const char *text, *fault;
        int modify;
    } rows[] = {
        {"setmetatable(_G, {__index = function(_, name) error(name .. ' is undefined') end})\n", "",
         0},
        {"local all = {}\n"
         "setmetatable(_G, {__newindex = all, __index = all})\n"
         "function slurm_job_modify() return slurm.ERROR end\n",
         "", -ERR_GENERIC},
        {"slurm_job_modify = setmetatable({}, {__call = function() return slurm.ERROR end})\n", "",
         -ERR_GENERIC},
        {"slurm_job_modify = 5\n", "attempt to call a number value", -ERR_GENERIC},
        {"setmetatable(_G, {__index = function() while true do end end})\n", "too long",
         -ERR_GENERIC},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        _cleanup_str_ struct str message = STR_INIT, fault = STR_INIT;
        _cleanup_free_ char *text =
            mem_printf("function slurm_job_submit() return slurm.ERROR end\n%s", rows[i].text);
        _cleanup_arena_ struct arena arena;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT, before = PB__JOB_SPEC__INIT;

        arena_init(&arena, 0);
        assert_int_equal(ask_of(text, &spec, &before, &arena, &message, &fault), rows[i].modify);
        if (*rows[i].fault ? !strstr(str_cstr(&fault), rows[i].fault) : fault.len > 0)
            fail_msg("%s: said \"%s\"", rows[i].text, str_cstr(&fault));
        assert_int_equal(ask_of(text, &spec, NULL, &arena, &message, &fault), -ERR_GENERIC);
    }
}

static void test_refusals_have_code_and_message(void **state)
{
    assert_refusal("return slurm.ERROR", -ERR_GENERIC, "Unspecified error");
    assert_refusal("slurm.log_user('no %s on %d', 'jobs', 3) return slurm.ERROR", -ERR_GENERIC,
                   "no jobs on 3");
    assert_refusal("return slurm.ESLURM_ACCESS_DENIED", -ERR_ACCESS, "Access/permission denied");
    assert_refusal("return 2000", -ERR_NO_PARTITION, "Invalid partition name");
    assert_refusal("return 'yes'", -ERR_GENERIC, "returns no number");
    assert_refusal("error('broken')", -ERR_GENERIC, ":2: broken");
    assert_refusal("local x = nil\nreturn x.y", -ERR_GENERIC, ":3: attempt to index");
    assert_refusal("while true do end", -ERR_GENERIC, "too long");
    assert_refusal("pcall(function() while true do end end) while true do end", -ERR_GENERIC,
                   "too long");
    assert_refusal("while true do pcall(function() while true do end end) end", -ERR_GENERIC,
                   "too long");
    assert_refusal("while true do coroutine.wrap(function() while true do end end)() end",
                   -ERR_GENERIC, "too long");
    assert_refusal("local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end",
                   -ERR_GENERIC, "not enough memory");
    /* Texts of users, in a common pattern and in a loop that builds a text. */
    assert_refusal("local s = string.rep(' ', 5000) return s:match('^%s*(.-)%s*x$') and 0 or 1",
                   -ERR_GENERIC, "too long");
    assert_refusal("local s = '' for i = 1, 300000 do s = s .. 'xxxx' end return 1", -ERR_GENERIC,
                   "too long");
    assert_refusal("local t = {} for i = 1, 30000 do table.insert(t, 1, i) end return 1",
                   -ERR_GENERIC, "too long");
    assert_refusal("local t = {} for i = 1, 30000 do t[i] = i end\n"
                   "while #t > 0 do table.remove(t, 1) end return 1",
                   -ERR_GENERIC, "too long");
    assert_refusal("local t = {} for i = 1, 30000 do t[i] = i end\n"
                   "while true do table.move(t, 1, #t, 2) t[#t] = nil end",
                   -ERR_GENERIC, "too long");
    assert_refusal("local t = {} for i = 1, 30000 do t[i] = '' end\n"
                   "while true do table.concat(t) end",
                   -ERR_GENERIC, "too long");
    assert_refusal("local t = {} for i = 1, 30000 do t[i] = i end for i = 1, 99 do table.sort(t)\n"
                   "end return 1",
                   -ERR_GENERIC, "too many elements");
    assert_refusal("local s = string.rep('x', 100000) while true do utf8.len(s) end", -ERR_GENERIC,
                   "too long");
    /* With their costs bounded, they do what they did. */
    assert_refusal("table.insert({}, 5, 1)", -ERR_GENERIC,
                   ":2: bad argument #2 to 'insert' (position out of bounds)");
    assert_refusal("table.concat({{}})", -ERR_GENERIC, ":2: invalid value (table) at index 1");
    assert_refusal("utf8.len({})", -ERR_GENERIC, ":2: bad argument #1 to 'len'");
    assert_refusal("local t = table.move({1, 2, 3}, 2, 3, 1) table.insert(t, 1, 7)\n"
                   "assert(table.remove(t, 2) == 2 and table.remove(t) == 3)\n"
                   "assert(table.concat(t, ',') == '7,3' and select('#', table.unpack(t)) == 2)\n"
                   "local u = {3, 1, 2} table.sort(u) assert(u[1] == 1 and u[3] == 3)\n"
                   "table.sort(u, function(a, b) return a > b end) assert(u[1] == 3)\n"
                   "assert(table.unpack(t, 2) == 3 and table.concat(t, '', 2, 2) == '3')\n"
                   "assert(utf8.len('a\\u{e4}b') == 3 and utf8.offset('a\\u{e4}b', 3) == 4)\n"
                   "return 2000",
                   -ERR_NO_PARTITION, "Invalid partition name");
    /* Coroutines: that each do little, and that copy much. */
    assert_refusal("while true do\n"
                   "coroutine.wrap(function() for i = 1, 90000 do end end)() end",
                   -ERR_GENERIC, "too long");
    assert_refusal("coroutine.wrap(function() local s = string.rep('x', 10000000)\n"
                   "while true do pcall(function() local t = s .. 'y' end) end end)()",
                   -ERR_GENERIC, "too long");
    assert_refusal("for i = 1, 1000000 do slurm.log_user('x') end return 1", -ERR_GENERIC,
                   "too long");
    assert_refusal("os.execute('true')", -ERR_GENERIC, "nil value");
    assert_refusal("io.open('/etc/passwd')", -ERR_GENERIC, "nil value");
    assert_refusal("require('socket')", -ERR_GENERIC, "nil value");
    assert_refusal("dofile('/etc/passwd')", -ERR_GENERIC, "nil value");
    assert_refusal("job_desc.no_such = 1", -ERR_GENERIC, "no field 'no_such'");
    assert_refusal("job_desc.user_name = 'root'", -ERR_GENERIC, "read only");
    assert_refusal("job_desc.min_nodes = -1", -ERR_GENERIC, "'min_nodes' cannot be -1");
    assert_refusal("job_desc.min_nodes = 0/0", -ERR_GENERIC, "'min_nodes' cannot be");
    assert_refusal("job_desc.min_mem_per_node = 0/0", -ERR_GENERIC, "'min_mem_per_node' cannot be");
    assert_refusal("job_desc.min_mem_per_cpu = 0/0", -ERR_GENERIC, "'min_mem_per_cpu' cannot be");
    assert_refusal("job_desc.time_limit = 0", -ERR_GENERIC, "'time_limit' cannot be 0");
    assert_refusal("job_desc.nice = 7e9", -ERR_GENERIC, "'nice' cannot be");
    assert_refusal("job_desc.account = {}", -ERR_GENERIC, "string expected");
    assert_refusal("job_desc.account = 5", -ERR_GENERIC, "'account' cannot be 5");
}

static void test_script_reads_and_changes_the_request(void **state)
{
    static const char text[] =
        "count = 0\n"
        "function slurm_job_submit(job_desc, part_list, submit_uid)\n"
        "  assert(submit_uid == 1000 and job_desc.name == 'job' and job_desc.account == nil)\n"
        "  assert(job_desc.min_nodes == slurm.NO_VAL and job_desc.contiguous == slurm.NO_VAL16)\n"
        "  assert(job_desc.time_limit == 2 and job_desc.pn_min_memory == 500)\n"
        "  assert(job_desc.nice == slurm.NICE_OFFSET - 5 and job_desc.nosuch == nil)\n"
        "  assert(job_desc.script == '#!/bin/sh' and job_desc.environment.FOO == 'bar')\n"
        "  local n = 0\n"
        "  for name, part in pairs(part_list) do n = n + 1 assert(part.name == name) end\n"
        "  assert(n == 2 and part_list.long.priority_tier == 7)\n"
        "  assert(part_list.long.max_time == slurm.INFINITE and part_list.short.max_time == 60)\n"
        "  job_desc.account, job_desc.partition = 'acct', 'long'\n"
        "  job_desc.min_nodes, job_desc.time_limit = 3, 61\n"
        "  job_desc.priority, job_desc.nice = 4000, slurm.NICE_OFFSET + 9\n"
        "  job_desc.contiguous, job_desc.shared = 1, 0\n"
        "  job_desc.min_mem_per_cpu, job_desc.comment = 70, nil\n"
        "  job_desc.site_factor = -3\n"
        "  slurm.log_info('seen %s', job_desc.name) slurm.user_msg('hello') slurm.log_user('you')\n"
        "  return slurm.SUCCESS\n"
        "end\n"
        "function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)\n"
        "  assert(job_rec.name == 'old' and job_rec.job_id == 12 and job_desc.name == nil)\n"
        "  assert(not pcall(function() job_rec.name = 'x' end))\n"
        "  if job_desc.comment then return slurm.ERROR end\n"
        "  job_desc.comment = 'modified'\n"
        "  return 0\n"
        "end\n";
    _cleanup_str_ struct str message = STR_INIT, fault = STR_INIT;
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec s = PB__JOB_SPEC__INIT, before = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;

    arena_init(&arena, 0);
    s.name = "job";
    s.comment = "c";
    s.has_time_limit_sec = s.has_nice = s.has_mem_per_node_mib = true;
    s.time_limit_sec = 120;
    s.mem_per_node_mib = 500;
    s.nice = -5;
    if (ask_of(text, &s, NULL, &arena, &message, &fault) != 0)
        fail_msg("%s", str_cstr(&fault));
    assert_string_equal(str_cstr(&message), "hello\nyou");
    assert_string_equal(s.account, "acct");
    assert_string_equal(s.partition, "long");
    assert_null(s.comment);
    assert_true(s.has_min_nodes && s.min_nodes == 3 && s.time_limit_sec == 3660);
    assert_true(s.has_priority && s.priority == 4000 && s.nice == 9 && s.site_factor == -3);
    assert_true(s.contiguous && s.exclusive && !s.has_oversubscribe);
    assert_true(s.has_mem_per_cpu_mib && s.mem_per_cpu_mib == 70 && !s.has_mem_per_node_mib);
    before.name = "old";
    assert_int_equal(ask_of(text, &set, &before, &arena, &message, &fault), 0);
    assert_string_equal(set.comment, "modified");
    assert_int_equal(ask_of(text, &set, &before, &arena, &message, &fault), -ERR_GENERIC);
}

static void test_changed_script_file_is_detected(void **state)
{
    struct err err = {0};
    struct lua_submit *l = open_text("function slurm_job_submit() return 0 end", &err);

    assert_non_null(l);
    assert_false(lua_submit_is_stale(l));
    lua_submit_close(open_text("function slurm_job_submit() return 0 end -- other", &err));
    assert_true(lua_submit_is_stale(l));
    lua_submit_seen(l);
    assert_false(lua_submit_is_stale(l));
    lua_submit_close(l);
}

/* Asks for five jobs; returns the number of the accepted ones. The file is away meanwhile: the text
 * that was read serves. */
static int count_accepted(const char *text, struct str *fault)
{
    _cleanup_str_ struct str message = STR_INIT;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    struct lua_submit *l = open_text(text, &err);
    int accepted = 0;

    arena_init(&arena, 0);
    assert_non_null(l);
    unlink(path);
    for (int i = 0; i < 5; i++) {
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        struct env_submit ask = {.spec = &spec, .arena = &arena, .message = &message};
        spec.name = i == 2 ? "large" : "job";
        accepted += lua_submit_ask(&l, &ask, fault, &err) == 0;
    }
    lua_submit_close(l);
    return accepted;
}

/* One that keeps something of each job would refuse all jobs some day. */
static void test_script_without_memory_is_read_again(void **state)
{
    static const char keep[] = "kept = {} function slurm_job_submit(job)\n"
                               "kept[#kept + 1] = string.rep('x', 20000000) .. #kept\n"
                               "assert(not job.comment) job.comment = 'seen'\n"
                               "return 0 end";
    static const char catch[] = "kept = {} function slurm_job_submit(job)\n"
                                "local done = pcall(function()\n"
                                "kept[#kept + 1] = string.rep('x', 20000000) .. #kept end)\n"
                                "return done and 0 or -1 end";
    _cleanup_str_ struct str fault = STR_INIT;

    assert_int_equal(count_accepted(keep, &fault), 5);
    assert_int_equal(count_accepted(catch, &fault), 5);
    assert_string_equal(str_cstr(&fault), "");
}

static void test_large_request_leaves_what_the_script_kept(void **state)
{
    static const char text[] = "count = 0 function slurm_job_submit(job)\n"
                               "count = count + 1\n"
                               "if job.name == 'large' then string.rep('x', 90000000) end\n"
                               "return job.name == 'large' and 0 or count < 4 and 0 or -1 end";
    _cleanup_str_ struct str fault = STR_INIT;

    /* The first two are accepted; the large one fails; the others are the fourth and the fifth. */
    assert_int_equal(count_accepted(text, &fault), 2);
    assert_non_null(strstr(str_cstr(&fault), "not enough memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_scripts_are_refused),
        cmocka_unit_test(test_scripts_may_guard_their_globals),
        cmocka_unit_test(test_refusals_have_code_and_message),
        cmocka_unit_test(test_script_reads_and_changes_the_request),
        cmocka_unit_test(test_changed_script_file_is_detected),
        cmocka_unit_test(test_script_without_memory_is_read_again),
        cmocka_unit_test(test_large_request_leaves_what_the_script_kept),
    };
    snprintf(path, sizeof path, "/tmp/lua_submit_test.%d.lua", (int)getpid());
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
