#include <string.h>

char label[16];

void label_set(const char *text) {
    strcpy(label, text);
}
