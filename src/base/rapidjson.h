// RapidJSON's readers and writers, as every source of ours includes them.
//
// RapidJSON 1.1 adds to a null pointer when its stack is still empty, which UBSan would report as
// ours: its functions are left out of that check.
#pragma once

#include <istream>  // what RapidJSON includes, out of the attribute's reach
#include <ostream>

#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#ifdef __clang__
#pragma clang attribute pop
#endif
