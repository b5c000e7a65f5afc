// The backends that io_test runs the contract on.
#include "io/contract_bench.h"

namespace hushgate::io {

std::vector<const char*> contract_backends() {
  return {"epoll", "uring", "olduring", "sim1", "sim2", "sim3",
          "sim4",  "sim5",  "sim6",     "sim7", "sim8"};
}

std::unique_ptr<Bench> make_bench(std::string_view name) {
  return name == "epoll"      ? make_epoll_bench()
         : name == "uring"    ? make_uring_bench()
         : name == "olduring" ? make_old_uring_bench()
                              : make_sim_bench(seed_in(name));
}

}  // namespace hushgate::io
