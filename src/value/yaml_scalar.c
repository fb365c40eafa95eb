#include "value/yaml_scalar.h"
#include <math.h>
#include <stdlib.h>
#include "base/number.h"
#include "value/int.h"
#include "value/string.h"

typedef enum { SCALAR_STRING, SCALAR_NULL, SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT, SCALAR_ENDLESS } YamlScalar;

static const struct { Str text; YamlScalar type; } words[] = {
    { STR("null"), SCALAR_NULL }, { STR("Null"), SCALAR_NULL }, { STR("NULL"), SCALAR_NULL }, { STR("~"), SCALAR_NULL },
    { STR("true"), SCALAR_BOOL }, { STR("True"), SCALAR_BOOL }, { STR("TRUE"), SCALAR_BOOL },
    { STR("false"), SCALAR_BOOL }, { STR("False"), SCALAR_BOOL }, { STR("FALSE"), SCALAR_BOOL },
    { STR(".nan"), SCALAR_ENDLESS }, { STR(".NaN"), SCALAR_ENDLESS }, { STR(".NAN"), SCALAR_ENDLESS },
    { STR(".inf"), SCALAR_ENDLESS }, { STR(".Inf"), SCALAR_ENDLESS }, { STR(".INF"), SCALAR_ENDLESS },
    { STR("-.inf"), SCALAR_ENDLESS }, { STR("-.Inf"), SCALAR_ENDLESS }, { STR("-.INF"), SCALAR_ENDLESS },
    { STR("+.inf"), SCALAR_ENDLESS }, { STR("+.Inf"), SCALAR_ENDLESS }, { STR("+.INF"), SCALAR_ENDLESS },
};
enum { WORD_MAX = 5 };

static bool is_digit(char c, int base) {
    if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return true;
    return c >= '0' && c < (base == 8 ? '8' : '9' + 1);
}

static size_t skip_digits(Str s, size_t i, int base) {
    while (i < s.n && is_digit(s.at[i], base)) i++;
    return i;
}

static size_t skip_sign(Str s, size_t i) { return i < s.n && (s.at[i] == '-' || s.at[i] == '+') ? i + 1 : i; }

/* 0o17 is 8, 0x1f is 16, else 10. */
static int int_base(Str s) {
    if (s.n < 3 || s.at[0] != '0') return 10;
    return s.at[1] == 'o' ? 8 : s.at[1] == 'x' ? 16 : 10;
}

static bool is_int(Str s) {
    int base = int_base(s);
    size_t from = base == 10 ? skip_sign(s, 0) : 2;
    return from < s.n && skip_digits(s, from, base) == s.n;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_float(Str s) {
    size_t start = skip_sign(s, 0), whole = skip_digits(s, start, 10), end = whole;
    if (end < s.n && s.at[end] == '.') {
        end = skip_digits(s, end + 1, 10);
        if (whole == start && end == whole + 1) return false;   /* a dot alone */
    } else if (whole == start) {
        return false;
    }
    if (end < s.n && (s.at[end] == 'e' || s.at[end] == 'E')) {
        size_t power = skip_sign(s, end + 1);
        end = skip_digits(s, power, 10);
        if (end == power) return false;
    }
    return end == s.n;
}

/* Type of a plain scalar without a tag; SCALAR_ENDLESS is .inf and .nan. */
static YamlScalar type_of(Str text) {
    if (text.n == 0) return SCALAR_NULL;
    if (text.n <= WORD_MAX)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (str_eq(text, words[i].text)) return words[i].type;
    if (is_int(text)) return SCALAR_INT;
    return is_float(text) ? SCALAR_FLOAT : SCALAR_STRING;
}

static bool read_int(Heap *h, Str s, Value *out, Error *err) {
    int base = int_base(s);
    return int_parse(h, base == 10 ? s : str_sub(s, 2, s.n), base, out, err);
}

/* YAML allows "+1", ".5" and "5."; number_read_double requires digits on both sides and no plus. */
static bool read_float(Str s, Value *out, Error *err) {
    Buf plain = { 0 };
    bool negative = s.at[0] == '-';
    if (negative) buf_add_char(&plain, '-');
    s = str_sub(s, skip_sign(s, 0), s.n);
    size_t whole = skip_digits(s, 0, 10);
    if (whole == 0) buf_add_char(&plain, '0');
    bool bare_dot = whole < s.n && s.at[whole] == '.' && skip_digits(s, whole + 1, 10) == whole + 1;
    buf_add(&plain, str_sub(s, 0, whole));
    buf_add(&plain, str_sub(s, bare_dot ? whole + 1 : whole, s.n));
    double d = number_read_double(buf_str(&plain));
    buf_clear(&plain);
    if (isinf(d)) return error_set(err, ERR_PARSE, "number is too large for a float");
    *out = value_from_float(d);
    return true;
}

static bool read_string(Heap *h, Str s, Value *out, Error *err) {
    String *made = string_new(h, s, err);
    if (!made) return false;
    *out = value_from_object(made);
    return true;
}

static bool read_as(Heap *h, Str text, YamlScalar type, Value *out, Error *err) {
    switch (type) {
    case SCALAR_STRING: return read_string(h, text, out, err);
    case SCALAR_NULL: *out = VALUE_NONE; return true;
    case SCALAR_BOOL: *out = value_from_bool(text.at[0] == 't' || text.at[0] == 'T'); return true;
    case SCALAR_INT: return read_int(h, text, out, err);
    case SCALAR_FLOAT: return read_float(text, out, err);
    case SCALAR_ENDLESS: break;
    }
    return error_set(err, ERR_PARSE, "infinity and NaN are not supported");
}

static const struct { const char *name; bool scalar; YamlScalar type; } core_tags[] = {
    { "str", true, SCALAR_STRING }, { "null", true, SCALAR_NULL },   { "bool", true, SCALAR_BOOL },
    { "int", true, SCALAR_INT },    { "float", true, SCALAR_FLOAT }, { "map", .scalar = false },
    { "seq", .scalar = false },
};

static int core_tag_index(const char *tag) {
    static const char prefix[] = "tag:yaml.org,2002:";
    if (strncmp(tag, prefix, sizeof prefix - 1) != 0) return -1;
    for (size_t i = 0; i < sizeof core_tags / sizeof *core_tags; i++)
        if (strcmp(tag + sizeof prefix - 1, core_tags[i].name) == 0) return (int)i;
    return -1;
}

const char *yaml_scalar_core_tag(const char *tag) {
    int i = core_tag_index(tag);
    return i < 0 ? NULL : core_tags[i].name;
}

bool yaml_scalar_read(Heap *h, Str text, bool plain, const char *tag, Value *out, Error *err) {
    if (!tag) return read_as(h, text, plain ? type_of(text) : SCALAR_STRING, out, err);
    int i = core_tag_index(tag);
    if (i < 0) return error_set(err, ERR_PARSE, "%s", YAML_SCALAR_TAGS);
    YamlScalar want = core_tags[i].type, is = type_of(text);
    if (core_tags[i].scalar && want == SCALAR_STRING) return read_as(h, text, want, out, err);
    if (want == SCALAR_FLOAT && is_float(text)) is = SCALAR_FLOAT;   /* !!float 1 */
    if (want == SCALAR_FLOAT && is == SCALAR_ENDLESS) want = is;
    if (want != is || !core_tags[i].scalar)
        return error_set(err, ERR_PARSE, "the text does not fit its tag !!%s", core_tags[i].name);
    return read_as(h, text, want, out, err);
}
