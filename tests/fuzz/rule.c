/* Lists of hosts, one per line, with the requested host last. Must not crash; a canonical spelling is canonical again;
 * an IPv4 address of the C library is one here too; a wildcard alone permits no private address. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include "net/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "rule: %s\n", what);
    abort();
}

static void check_target(Str host, const Target *t) {
    Target again;
    struct in_addr theirs;
    char *text = str_dup(host);
    check(target_set(str_from(t->host), t->port, &again, NULL) && strcmp(again.host, t->host) == 0 && again.is_address == t->is_address,
          "a canonical host is its own");
    if (!memchr(host.at, 0, host.n) && !strpbrk(text, " \t\n\v\f\r") && inet_aton(text, &theirs))
        check(t->is_address && !t->address.v6 && memcmp(t->address.at, &theirs, 4) == 0, "the C library would connect elsewhere");
    free(text);
}

static void check_private(const Target *t) {
    Str star = STR("*");
    Rules *any = NULL, *none = NULL;
    check(rule_list_new(&star, 1, &any, NULL) && rule_list_new(NULL, 0, &none, NULL), "plain lists");
    bool private = t->is_address && address_kind(&t->address);
    check(!private || (!rule_allows_target(any, t, NULL) && !rule_allows_target(none, t, NULL)), "a private address needs an entry");
    check(!private || (!rule_allows_address(any, t, &t->address, NULL) && !rule_allows_address(none, t, &t->address, NULL)), "whatever the name");
    rule_list_free(any);
    rule_list_free(none);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str rest = { (const char *)data, size }, line, entries[16], host = STR("");
    size_t n = 0;
    while (n < 16 && str_next_line(&rest, &line)) entries[n++] = host = line;
    Target t;
    Error err = { 0 };
    bool is_host = target_set(host, 80, &t, &err);
    if (is_host) {
        check_target(host, &t);
        check_private(&t);
    } else {
        check(err.kind == ERR_VALIDATION, "a kind");
        for (const char *c = err.msg; *c; c++) check(*c >= 0x20 && *c < 0x7f, "one plain line");
    }
    Rules *r = NULL;
    if (rule_list_new(entries, n, &r, &err)) {
        if (is_host && rule_allows_target(r, &t, &err)
            && t.is_address) check(rule_allows_address(r, &t, &t.address, &err), "both questions agree on an address");
        rule_list_free(r);
    }
    return 0;
}
