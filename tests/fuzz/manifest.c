/* tools.json and .mcp.json: any text ends in problems with positions, or in complete definitions. */
#include "loading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1) return 0;
    Loading x;
    Document d;
    Str text = { (const char *)data + 1, n - 1 };
    loading_start(&x);
    x.in.lenient = data[0] & 2;
    if (document_parse(&x.l.docs, "manifest", STR("x.json"), DOCUMENT_JSON, text, &d)) {
        if (data[0] & 1) load_servers(&x.l, &d, d.root, true);
        else load_manifest_document(&x.l, &d, STR("."));
        document_clear(&d);
    }
    loading_check(&x);
    loading_end(&x);
    return 0;
}
