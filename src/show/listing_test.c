/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "show/listing.h"

struct item {
    const char *name;
    int64_t number;
};

static struct listing_value get_name(const void *record, struct str *scratch)
{
    return (struct listing_value){.kind = LISTING_TEXT,
                                  .text = ((const struct item *)record)->name};
}
static struct listing_value get_number(const void *record, struct str *scratch)
{
    return (struct listing_value){.kind = LISTING_NUMBER,
                                  .number = ((const struct item *)record)->number};
}
static struct listing_value get_state(const void *record, struct str *scratch)
{
    const struct item *i = record;
    str_printf(scratch, "s%lld", (long long)(10 - i->number));
    return (struct listing_value){
        .kind = LISTING_RANKED, .text = str_cstr(scratch), .number = i->number};
}

static const struct listing_field fields[] = {
    {"Name", 'j', "NAME", get_name, ""},
    {"Number", 'n', "NUM", get_number, ""},
    {"State", 't', "ST", get_state, ""},
};
static const struct listing_table table = {fields, 3, "job"};
static const struct item items[] = {{"beta", 2}, {"alpha", -1}, {NULL, 10}, {"beta", 1}};

static void test_formats_print_header_and_rows(void **state)
{
    static const struct {
        const char *letters, *names, *header, *row; /* of items[0] */
    } v[] = {
        {"%j", NULL, "NAME\n", "beta\n"},
        {"%.6j|", NULL, "  NAME|\n", "  beta|\n"},
        {"%6j|", NULL, "NAME  |\n", "beta  |\n"},
        {"%2j%.2n", NULL, "NANU\n", "be 2\n"},
        {"x %j y", NULL, "x NAME y\n", "x beta y\n"},
        {"%all", NULL, "NAME|NUM|ST\n", "beta|2|s8\n"},
        {"%", NULL, "%\n", "%\n"},
        {"%5Q|%j", NULL, "%5Q|NAME\n", "%5Q|beta\n"},
        {"%#j|", NULL, "NAME |\n", "beta |\n"}, /* widest: alpha */
        {"", NULL, "\n", "\n"},
        {NULL, "name,number", "NAME                NUM                 \n",
         "beta                2                   \n"},
        {NULL, "Name:6,Number:.4", "NAME   NUM\n", "beta     2\n"},
        {NULL, "nosuch,Name:4", "NAME\n", "beta\n"},
        {NULL, "Name:4|,Number:3", "NAME|NUM\n", "beta|2  \n"},
        {NULL, "Name:", "NAME\n", "beta\n"},
        {NULL, "Name: ,Number:", "NAME NUM\n", "beta 2\n"},
        {NULL, "Name:##x,Number:.4 MiB,name:2:,Number:.", "NAME##x NUM MiBNA:NUM\n",
         "beta##x   2 MiBbe:2\n"},
        {NULL, "all", "NAME|NUM|ST\n", "beta|2|s8\n"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str header = STR_INIT, rows = STR_INIT;
        struct listing l;
        listing_init(&l, &table);
        if (v[i].letters)
            listing_set_letters(&l, v[i].letters);
        else
            listing_set_names(&l, v[i].names);
        for (size_t k = 0; k < 4; k++)
            listing_measure(&l, &items[k]);
        listing_print_header(&l, &header);
        listing_add(&l, &items[0]);
        listing_print_rows(&l, &rows);
        if (v[i].letters && strchr(v[i].letters, '#')) {
            /* "(null)" is wider */
            assert_string_equal(str_cstr(&header), "NAME  |\n");
            assert_string_equal(str_cstr(&rows), "beta  |\n");
        } else {
            assert_string_equal(str_cstr(&header), v[i].header);
            assert_string_equal(str_cstr(&rows), v[i].row);
        }
        listing_done(&l);
    }
}

static void test_sort_keys_order_rows(void **state)
{
    static const struct {
        const char *keys, *rows;
    } v[] = {
        {"n", "-1 1 2 10 "},      {"-n", "10 2 1 -1 "},    {"j", "10 -1 2 1 "},
        {"j,n", "10 -1 1 2 "},    {"-j,+n", "1 2 -1 10 "}, {"t", "-1 1 2 10 "},
        {"Number", "-1 1 2 10 "}, {"", "2 -1 10 1 "},      {"zz", "2 -1 10 1 "},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str rows = STR_INIT;
        struct listing l;
        listing_init(&l, &table);
        listing_set_letters(&l, "%n");
        assert_int_equal(listing_set_sort(&l, v[i].keys), strcmp(v[i].keys, "zz") != 0);
        for (size_t k = 0; k < 4; k++)
            listing_add(&l, &items[k]);
        listing_print_rows(&l, &rows);
        for (size_t k = 0; k < rows.len; k++)
            rows.data[k] = rows.data[k] == '\n' ? ' ' : rows.data[k];
        assert_string_equal(str_cstr(&rows), v[i].rows);
        listing_done(&l);
    }
}

static void test_values_can_not_drive_the_terminal(void **state)
{
    _cleanup_str_ struct str rows = STR_INIT;
    struct item evil = {"a\033[2Jb\nc", 0};
    struct listing l;
    listing_init(&l, &table);
    listing_set_letters(&l, "%j");
    listing_add(&l, &evil);
    listing_print_rows(&l, &rows);
    assert_string_equal(str_cstr(&rows), "a\\033[2Jb\\nc\n");
    listing_done(&l);
}

static void test_width_counts_characters(void **state)
{
    _cleanup_str_ struct str rows = STR_INIT;
    struct item umlauts = {"\xc3\xa4\xc3\xb6\xc3\xbc", 0};
    struct listing l;
    listing_init(&l, &table);
    listing_set_letters(&l, "%.5j|%2j|");
    listing_add(&l, &umlauts);
    listing_print_rows(&l, &rows);
    assert_string_equal(str_cstr(&rows), "  \xc3\xa4\xc3\xb6\xc3\xbc|\xc3\xa4\xc3\xb6|\n");
    listing_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_print_header_and_rows),
        cmocka_unit_test(test_sort_keys_order_rows),
        cmocka_unit_test(test_values_can_not_drive_the_terminal),
        cmocka_unit_test(test_width_counts_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
