#include "schema/format.h"

#include "base/regex_ecma.h"
#include "base/utf8.h"

static bool is_uuid(Str s) {
    if (s.n != 36) return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
        if (dash ? c != '-' : !hex) return false;
    }
    return true;
}

static bool is_json_pointer(Str s) {
    if (s.n && s.at[0] != '/') return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] == '~' && (i + 1 == s.n || (s.at[i + 1] != '0' && s.at[i + 1] != '1'))) return false;
    return true;
}

static bool is_relative_json_pointer(Str s) {
    size_t at = 0;
    while (at < s.n && s.at[at] >= '0' && s.at[at] <= '9') at++;
    if (at == 0 || (at > 1 && s.at[0] == '0')) return false;
    Str rest = str_sub(s, at, s.n);
    return str_eq(rest, STR("#")) || is_json_pointer(rest);
}

static bool is_regex(Str s) { return utf8_valid(s) && regex_ecma_translate(s, NULL, NULL); }

/* Sorted by name. */
static const Format formats[] = {
    { "date", format_date },
    { "date-time", format_date_time },
    { "duration", format_duration },
    { "email", format_email },
    { "hostname", format_hostname },
    { "idn-email", format_idn_email },
    { "idn-hostname", format_idn_hostname },
    { "ipv4", format_ipv4 },
    { "ipv6", format_ipv6 },
    { "iri", format_iri },
    { "iri-reference", format_iri_reference },
    { "json-pointer", is_json_pointer },
    { "regex", is_regex },
    { "relative-json-pointer", is_relative_json_pointer },
    { "time", format_time },
    { "uri", format_uri },
    { "uri-reference", format_uri_reference },
    { "uri-template", format_uri_template },
    { "uuid", is_uuid },
};

const Format *format_find(Str name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (str_eq(name, str_from(formats[i].name))) return &formats[i];
    return NULL;
}
