#include "io/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace hushgate::io {
namespace {

// Only what was never writable: relocated data is in a writable segment until it is protected, and
// would be lost.
int trim_object(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const ElfW(Addr) begin = (object->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
    const ElfW(Addr) end = (object->dlpi_addr + segment.p_vaddr + segment.p_memsz) & ~(page - 1);
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void trim_memory() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(trim_object, nullptr);
}

}  // namespace hushgate::io
