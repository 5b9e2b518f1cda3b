/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A saved state as lines of JSON: rejected input, and round trips without loss. */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/pb.h"
#include "cmd/sluice/state.h"
#include "cmd/sluice/state_json.h"
#include "cmd/sluice/state_line.h"
#include "control/env.h"
#include "proto/ctl.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/part.pb-c.h"

#define HEAD "{\"sluice_state\":{\"version\":1,\"format\":1,\"program\":\"0\",\"cluster\":\"c\"}}\n"
#define END "{\"end\":{\"records\":0,\"aside\":0,\"crc32c\":\"00000000\"}}\n"
#define JOB(id)                                                                                    \
    "{\"kind\":\"job\",\"number\":" id ",\"record\":{\"live\":{\"job_id\":1,\"state\":\"RUNNING\"" \
    "}}}\n"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- rejected lines --- */

static FILE *open_text(const char *text, size_t len)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    return f;
}

static int check_text(const char *text, bool edited, struct err *err)
{
    FILE *f = open_text(text, strlen(text));
    int rc = state_check(f, "c", edited, err);
    fclose(f);
    return rc;
}

static void foreign_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } cases[] = {
        {"", "empty", -ERR_PARSE},
        {"\n", "line 1", -ERR_PARSE},
        {"hello\n", "line 1", -ERR_PARSE},
        {"[]\n", "line 1", -ERR_PARSE},
        {"{}\n", "line 1", -ERR_PARSE},
        {JOB("1"), "begins with", -ERR_PARSE},
        {END, "begins with", -ERR_PARSE},
        {"{\"sluice_state\":{}}\n", "head", -ERR_PARSE},
        {"{\"sluice_state\":{\"version\":2}}\n", "newer version", -ERR_VERSION},
        {"{\"sluice_state\":{\"version\":1,\"format\":9,\"program\":\"7\",\"cluster\":\"c\"}}\n",
         "format 9", -ERR_VERSION},
        {"{\"sluice_state\":{\"version\":1,\"format\":1,\"program\":\"0\",\"cluster\":\"d\"}}\n",
         "cluster d", -ERR_CONFIG},
        {HEAD, "cut short", -ERR_PARSE},
        {HEAD JOB("1"), "end is missing after line 2", -ERR_PARSE},
        {HEAD "{\"end\":{\"records\":0,\"aside\":0,\"crc32c\":\"00000000\"}}", "line 2: it is cut",
         -ERR_PARSE},
        {HEAD HEAD END, "second head", -ERR_PARSE},
        {HEAD END END, "behind the end", -ERR_PARSE},
        {HEAD END "x", "behind the end", -ERR_PARSE},
        {HEAD JOB("1") JOB("1") END, "job 1 is there twice", -ERR_PARSE},
        {HEAD JOB("2") JOB("1") END, "not in its place", -ERR_PARSE},
        {HEAD JOB("-1") END, "line 2", -ERR_PARSE},
        {HEAD JOB("1.5") END, "line 2", -ERR_PARSE},
        {HEAD JOB("\"1\"") END, "line 2", -ERR_PARSE},
        {HEAD JOB("1,\"number\":2") END, "line 2", -ERR_PARSE},
        {HEAD JOB("1,\"name\":\"x\"") END, "line 2", -ERR_PARSE},
        {HEAD JOB("1,\"raw\":\"\"") END, "line 2", -ERR_PARSE},
        {HEAD JOB("1,\"color\":1") END, "line 2", -ERR_PARSE},
        {HEAD "{\"kind\":\"house\",\"number\":1,\"raw\":\"\"}\n" END, "line 2", -ERR_PARSE},
        {HEAD "{\"kind\":2,\"number\":1,\"raw\":\"\"}\n" END, "line 2", -ERR_PARSE},
        {HEAD "{\"kind\":99,\"number\":1,\"record\":{}}\n" END, "unknown kind", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1}\n" END, "line 2", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"raw\":\"=\"}\n" END, "base64", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"raw\":\"AB==\"}\n" END, "base64", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"raw\":\"A===\"}\n" END, "base64", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"raw\":\"AA==AAAA\"}\n" END, "base64", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"raw\":3}\n" END, "base64", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"record\":{\"colour\":1}}\n" END, "'colour'",
         -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"record\":{\"live\":{\"job_id\":1}}}\n" END,
         "job 1: live: state: it is missing", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"record\":{\"@unknown\":\"AAA=\"}}\n" END,
         "@unknown", -ERR_PARSE},
        {HEAD "{\"kind\":\"job\",\"number\":1,\"record\":[]}\n" END, "not an object", -ERR_PARSE},
        {HEAD "{\"aside\":{\"kind\":\"job\",\"number\":1,\"raw\":\"\"}}\n" END, "set aside",
         -ERR_PARSE},
        {HEAD JOB(
             "1") "{\"aside\":{\"kind\":\"job\",\"number\":1,\"why\":\"\",\"raw\":\"\"}}\n" END,
         "not in its place", -ERR_PARSE},
        {HEAD "{\"end\":{\"records\":0,\"aside\":0,\"crc32c\":\"0\"}}\n", "end", -ERR_PARSE},
        {HEAD JOB("1") END, "--edited", -ERR_PARSE},
        {HEAD END, "--edited", -ERR_PARSE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = {0};
        if (check_text(cases[i].text, false, &err) != cases[i].code ||
            !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %d: '%s'", i, err.code, err.text);
    }
    struct err err = {0};
    assert_int_equal(check_text(HEAD JOB("1") END, true, &err), 0);
}

/* Values that are invalid for the type of the field. */
static void wrong_values_are_refused(void **state)
{
    static const char *const cases[] = {
        "\"name\":1",
        "\"name\":null",
        "\"name\":[]",
        "\"name\":{\"base64\":\"AAAA\"}", /* NUL */
        "\"name\":{\"base64\":\"eA==\",\"x\":1}",
        "\"min_nodes\":-1",
        "\"min_nodes\":4294967296",
        "\"min_nodes\":\"1\"",
        "\"min_nodes\":1e3",
        "\"nice\":2147483648",
        "\"nice\":-2147483649",
        "\"mem_per_node_mib\":1",
        "\"mem_per_node_mib\":\"\"",
        "\"mem_per_node_mib\":\"-1\"",
        "\"mem_per_node_mib\":\"18446744073709551616\"",
        "\"mem_per_node_mib\":\"000000000000000000001\"",
        "\"time_limit_sec\":\"9223372036854775808\"",
        "\"time_limit_sec\":\" 1\"",
        "\"exclusive\":1",
        "\"exclusive\":\"true\"",
        "\"request_id\":\"A\"",
        "\"request_id\":7",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf("{%s}", cases[i]);
        _cleanup_arena_ struct arena arena;
        ProtobufCMessage *m = NULL;
        struct err err = {0};
        json_t *json = json_loads(text, 0, NULL);
        assert_non_null(json);
        arena_init(&arena, 0);
        if (state_json_read(json, &pb__job_spec__descriptor, &arena, &m, &err) != -ERR_PARSE)
            fail_msg("taken: %s", text);
        assert_null(m);
        json_decref(json);
    }
}

/* --- round trips --- */

/* The same bytes after a conversion to JSON text and back. */
static void assert_comes_back(const ProtobufCMessage *m)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str before = STR_INIT, after = STR_INIT;
    ProtobufCMessage *back = NULL;
    struct err err = {0};
    arena_init(&arena, 0);
    json_t *json = state_json_message(m), *again;
    char *text = json_dumps(json, JSON_COMPACT);
    again = json_loads(text, 0, NULL);
    if (!again || state_json_read(again, m->descriptor, &arena, &back, &err))
        fail_msg("%s: %s", err.text, text);
    pb_pack(m, &before);
    pb_pack(back, &after);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(str_cstr(&before), str_cstr(&after), before.len);
    json_decref(json);
    json_decref(again);
    free(text);
}

static void extreme_values_are_exported_and_imported(void **state)
{
    static const char *const texts[] = {"", "a\nb\"\\\x01", "\xc3\xa9", "\xff\xfe", "\xed\xa0\x80"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        s.name = (char *)texts[i];
        s.has_min_nodes = s.has_nice = s.has_mem_per_node_mib = s.has_time_limit_sec = true;
        s.min_nodes = i % 2 ? UINT32_MAX : 0;
        s.nice = i % 2 ? INT32_MAX : INT32_MIN;
        s.mem_per_node_mib = i % 2 ? UINT64_MAX : 0;
        s.time_limit_sec = i % 2 ? INT64_MAX : INT64_MIN;
        s.has_exclusive = true;
        s.exclusive = i % 2;
        s.has_request_id = true;
        s.request_id.data = (uint8_t *)"\0\xff\x80z";
        s.request_id.len = i;
        assert_comes_back(&s.base);
    }
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    live.job_id = 7;
    for (int n = 0; n < 20; n++) { /* includes states without a name */
        live.state = (Pb__JobState)n;
        assert_comes_back(&live.base);
    }
}

static uint64_t draw_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random >> 11;
}

/* Fills a message with random fields, by its descriptor. */
static void put_random(const ProtobufCMessageDescriptor *type, uint64_t *random, int depth,
                       struct str *out)
{
    pb_each_field (type, field) {
        bool must = field->label == PROTOBUF_C_LABEL_REQUIRED;
        size_t count = must ? 1 : draw_random(random) % 2;
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            count = draw_random(random) % 3;
        for (size_t i = 0; i < count; i++) {
            _cleanup_str_ struct str inner = STR_INIT;
            bool plain = field->type != PROTOBUF_C_TYPE_MESSAGE &&
                         field->type != PROTOBUF_C_TYPE_STRING &&
                         field->type != PROTOBUF_C_TYPE_BYTES;
            if (plain) {
                uint64_t n =
                    draw_random(random) % 3 ? draw_random(random) % 9 : draw_random(random);
                if (field->type == PROTOBUF_C_TYPE_BOOL)
                    n %= 2;
                if (field->type == PROTOBUF_C_TYPE_UINT32 || field->type == PROTOBUF_C_TYPE_INT32 ||
                    field->type == PROTOBUF_C_TYPE_ENUM)
                    n %= INT32_MAX;
                bool fixed = field->type == PROTOBUF_C_TYPE_FIXED64 ||
                             field->type == PROTOBUF_C_TYPE_SFIXED64;
                uint64_t tag = (uint64_t)field->id << 3 | fixed;
                for (; tag > 0x7f; tag >>= 7)
                    str_putc(out, (char)(tag | 0x80));
                str_putc(out, (char)tag);
                if (fixed) {
                    str_append(out, &n, sizeof(n));
                    continue;
                }
                for (; n > 0x7f; n >>= 7)
                    str_putc(out, (char)(n | 0x80));
                str_putc(out, (char)n);
                continue;
            }
            if (field->type == PROTOBUF_C_TYPE_MESSAGE)
                put_random(field->descriptor, random, depth + 1, &inner);
            for (size_t k = draw_random(random) % 6;
                 k > 0 && field->type != PROTOBUF_C_TYPE_MESSAGE; k--)
                str_putc(&inner, (char)(1 + draw_random(random) % 255));
            pb_pack_field(field->id, inner.data, inner.len, out);
        }
    }
    if (draw_random(random) % 4 == 0)
        str_append(out, "\xc0\x3e\x2a\xca\x3e\x03new", 9); /* an unknown field */
}

static void random_messages_are_exported_and_imported(void **state)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &pb__job_record__descriptor,  &pb__job_payload__descriptor, &pb__node_record__descriptor,
        &pb__part_change__descriptor, &pb__store_meta__descriptor,  &pb__nodes_made__descriptor};
    uint64_t random = UINT64_C(88172645463325252);
    (void)state;
    for (unsigned round = 0; round < 600; round++) {
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str packed = STR_INIT;
        arena_init(&arena, 0);
        put_random(types[round % COUNT(types)], &random, 0, &packed);
        const ProtobufCMessage *m =
            arena_unpack(&arena, types[round % COUNT(types)], packed.data, packed.len);
        if (!m)
            fail_msg("round %u: a %s of %zu bytes", round, types[round % COUNT(types)]->name,
                     packed.len);
        assert_comes_back(m);
    }
}

/* --- stores --- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    return remove(path);
}

static int setup(void **state)
{
    char *dir = mem_strdup("/tmp/state-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    *state = dir;
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(*state);
    return 0;
}

static struct store *open_in(const char *dir, const char *name, unsigned flags)
{
    _cleanup_free_ char *at = mem_printf("%s/%s", dir, name);
    struct store_where where = {.at = at, .cluster = "c"};
    struct store *s = NULL;
    struct err err = {0};
    if (store_open(&where, flags, NULL, NULL, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static void commit_batch(struct store *s, struct store_batch *b)
{
    struct err err = {0};
    if (store_commit_sync(s, b, &err))
        fail_msg("%s", err.text);
}

/* Records of all kinds, some that do not decode, one of a future kind, and some set aside. */
static void fill_store(struct store *s)
{
    struct store_batch *b = store_batch_new();
    _cleanup_str_ struct str meta = STR_INIT, job = STR_INIT;
    Pb__StoreMeta m = PB__STORE_META__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobRecord r = PB__JOB_RECORD__INIT;
    m.cluster = (char *)"c";
    m.has_format = true;
    m.format = RECORD_FORMAT;
    pb_pack(&m.base, &meta);
    live.job_id = 1;
    r.live = &live;
    pb_pack(&r.base, &job);
    store_put(b, RECORD_META, 0, NULL, meta.data, meta.len);
    for (uint64_t i = 1; i <= 40; i++)
        store_put(b, RECORD_JOB, i, NULL, job.data, job.len);
    store_put(b, RECORD_JOB, 41, NULL, "\xff", 1);
    store_put(b, RECORD_PAYLOAD, 1, NULL, "", 0);
    store_put(b, RECORD_NODE, 0, "n1", "\x0a\x02n1", 4);
    store_put(b, RECORD_NODE, 0, "n\xff", "\x0a\x02n1", 4);
    store_put(b, RECORD_PART, 0, "n1", "x", 1);
    store_put(b, 99, 7, NULL, "what", 4);
    commit_batch(s, b);
    for (int i = 0; i < 2; i++) { /* the same record twice, then a valid one again */
        b = store_batch_new();
        store_set_aside(b, RECORD_NODE, 0, "n1", i ? "again" : "checksum");
        store_set_aside(b, RECORD_JOB, 7 + (uint64_t)i, NULL, "contradicts itself");
        store_set_aside(b, RECORD_JOB, 1000, NULL, "is not there");
        store_set_aside(b, 77, 1, NULL, "is not there");
        commit_batch(s, b);
        b = store_batch_new();
        store_put(b, RECORD_NODE, 0, "n1", "\x0a\x02n1", 4);
        commit_batch(s, b);
    }
}

static char *export_text(struct store *s, size_t *len)
{
    char *text = NULL;
    struct state_count count;
    struct err err = {0};
    FILE *f = open_memstream(&text, len);
    if (state_export(s, "c", f, &count, &err))
        fail_msg("%s", err.text);
    fclose(f);
    assert_int_equal(count.records, 1 + 41 - 2 + 1 + 2 + 1 + 1);
    assert_int_equal(count.asides, 4);
    return text;
}

static void stores_are_exported_and_imported(void **state)
{
    size_t len = 0, len2 = 0;
    struct state_count count;
    struct err err = {0};
    struct store *s = open_in(*state, "a", STORE_TAKE_LEAD);
    fill_store(s);
    _cleanup_free_ char *text = export_text(s, &len);
    assert_int_equal(state_check_empty(s, &err), -ERR_STORE);
    assert_non_null(strstr(err.text, "not empty (45 records, 4 set aside)"));
    store_close(s);

    FILE *f = open_text(text, len);
    s = open_in(*state, "b", STORE_TAKE_LEAD);
    assert_int_equal(state_check_empty(s, &err), 0);
    if (state_check(f, "C", false, &err) || state_import(f, s, &count, &err))
        fail_msg("%s", err.text);
    assert_int_equal(count.records, 45);
    assert_int_equal(count.asides, 4);
    fclose(f);
    store_close(s);
    s = open_in(*state, "b", 0);
    _cleanup_free_ char *again = export_text(s, &len2);
    store_close(s);
    assert_int_equal(len, len2);
    assert_string_equal(text, again);
}

/* A file that is cut anywhere, has one changed byte, or has a line that is missing, repeated or
 * moved, is always rejected. */
static void changed_files_are_refused(void **state)
{
    size_t len = 0;
    struct store *s = open_in(*state, "a", STORE_TAKE_LEAD);
    fill_store(s);
    _cleanup_free_ char *text = export_text(s, &len);
    store_close(s);
    for (size_t i = 0; i < len; i += 11) {
        struct err err = {0};
        FILE *f = open_text(text, i);
        if (state_check(f, "c", false, &err) == 0)
            fail_msg("taken, but cut after %zu of %zu", i, len);
        fclose(f);
    }
    for (size_t i = 0; i < len; i += 7) {
        struct err err = {0};
        char was = text[i];
        text[i] = (char)(was ^ (1 << i % 7));
        FILE *f = open_text(text, len);
        if (state_check(f, "c", false, &err) == 0)
            fail_msg("taken, but byte %zu of %zu was changed", i, len);
        fclose(f);
        text[i] = was;
    }
    const char *last = text;
    for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n') + 1;
        for (int how = 0; how < 3; how++) {
            _cleanup_str_ struct str other = STR_INIT;
            struct err err = {0};
            size_t before = (size_t)(how == 2 ? last - text : line - text);
            str_append(&other, text, before);
            if (how == 1) /* repeated */
                str_append(&other, line, (size_t)(end - line));
            if (how) /* 2: before the preceding line */
                str_append(&other, line, (size_t)(end - line));
            if (how == 2)
                str_append(&other, last, (size_t)(line - last));
            str_puts(&other, end);
            if (check_text(str_cstr(&other), false, &err) == 0)
                fail_msg("taken (%d): %s", how, line);
        }
        last = line;
    }
}

static void missing_store_is_not_created(void **state)
{
    _cleanup_free_ char *at = mem_printf("%s/none", (char *)*state);
    struct store_where where = {.at = at, .cluster = "c"};
    struct store *s = NULL;
    struct err err = {0};
    assert_int_equal(store_open(&where, STORE_EXISTING, NULL, NULL, &s, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no saved state"));
    assert_int_not_equal(access(at, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_lines_are_refused),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(extreme_values_are_exported_and_imported),
        cmocka_unit_test(random_messages_are_exported_and_imported),
        cmocka_unit_test_setup_teardown(stores_are_exported_and_imported, setup, teardown),
        cmocka_unit_test_setup_teardown(changed_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_store_is_not_created, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
