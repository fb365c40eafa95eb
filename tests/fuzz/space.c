/* The files of a Construct space; the first byte chooses which one. */
#include "loading.h"
#include "artifact/space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void load(Space *s, int format, Str text) {
    static const char *const files[] = { "agent/tools/x.md", "agent/config.md", "space.manifest.json", "agent/hooks/x.json" };
    Document d;
    if (!document_parse(&s->l->docs, "space", str_from(files[format]), format < 2 ? DOCUMENT_MARKDOWN : DOCUMENT_JSON, text, &d)) return;
    LoaderPlace at = loader_file_place(s->l, &d, SOURCE_SPACE);
    switch (format) {
    case 0: space_load_tool(s, &at, true); break;
    case 1: space_load_agent(s, &d); break;
    case 2: space_load_manifest(s, &d); break;
    default: space_load_hooks(s, &d); break;
    }
    document_clear(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1) return 0;
    Loading x;
    loading_start(&x);
    x.in.lenient = data[0] & 4;
    Space s = { .l = &x.l, .folder = STR(".") };
    load(&s, data[0] & 3, (Str){ (const char *)data + 1, n - 1 });
    table_clear(&s.ids);
    loading_check(&x);
    loading_end(&x);
    return 0;
}
