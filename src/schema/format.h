/* Checks for the `format` keyword. Each check accepts any bytes, including invalid UTF-8, and
 * returns true or false. None allocates more than one label. */
#pragma once
#include "base/str.h"

typedef struct Format { const char *name; bool (*ok)(Str text); } Format;

const Format *format_find(Str name);     /* NULL if unknown */

bool format_date(Str s);
bool format_time(Str s);
bool format_date_time(Str s);
bool format_duration(Str s);
bool format_ipv4(Str s);
bool format_ipv6(Str s);
bool format_hostname(Str s);
bool format_idn_hostname(Str s);
bool format_email(Str s);
bool format_idn_email(Str s);
bool format_uri(Str s);
bool format_uri_reference(Str s);
bool format_iri(Str s);
bool format_iri_reference(Str s);
bool format_uri_template(Str s);
