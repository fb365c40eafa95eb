/* The loaders of the formats, one file each (load_*.c). */
#pragma once
#include "artifact/loader.h"
