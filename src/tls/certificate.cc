#include "tls/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/address.h"

namespace hushgate::tls {
namespace {

constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxChain = 16;
constexpr std::size_t kMaxAuthorities = 1'024;

std::string printable(const ASN1_STRING* string) {
  const auto* const bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(string));
  std::string text(bytes, std::min(size, kMaxNameBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string ip_text(const ASN1_OCTET_STRING* string) {
  const unsigned char* const bytes = ASN1_STRING_get0_data(string);
  const int size = ASN1_STRING_length(string);
  if (size == 4) return IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]).to_string();
  if (size != 16) return "?";
  std::array<std::uint8_t, 16> v6;
  std::copy_n(bytes, v6.size(), v6.begin());
  return IpAddress::v6(v6).to_string();
}

std::vector<std::string> names_of(const X509* certificate, bool (*wanted)(int type)) {
  const NamesPtr names(static_cast<STACK_OF(GENERAL_NAME)*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (!wanted(type)) continue;
    const auto* const string = static_cast<const ASN1_STRING*>(value);
    found.push_back(type == GEN_IPADD ? ip_text(string) : printable(string));
  }
  if (names) return found;
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0)
    found.push_back(printable(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  return found;
}

std::string os_text(int error) { return std::generic_category().message(error); }

std::expected<BioPtr, Fault> open_pem(const std::string& file, const std::string& pem,
                                      std::string_view what) {
  if (!pem.empty()) return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (file.empty()) {
    return std::unexpected(
        Fault{file, fmt::format("no {} is given", what), "the name of a PEM file"});
  }
  errno = 0;
  BioPtr bio(BIO_new_file(file.c_str(), "r"));
  const int error = errno;
  ERR_clear_error();
  if (bio) return bio;
  const std::string_view right = error == ENOENT   ? "the name of a file that exists"
                                 : error == EACCES ? "a file that this user may read"
                                                   : "a readable PEM file";
  return std::unexpected(Fault{file, fmt::format("the {} cannot be read: {}", what, os_text(error)),
                               std::string(right)});
}

// Why a PEM file has ended: its end, or something broken in it.
bool ended_well() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  return error == 0 ||
         (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE);
}

int no_password(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

std::expected<KeyPtr, Fault> load_key(const CertificateSource& source) {
  auto bio = open_pem(source.key_file, source.key_pem, "key");
  if (!bio) return std::unexpected(std::move(bio.error()));
  bool encrypted = false;
  KeyPtr key(PEM_read_bio_PrivateKey(bio->get(), nullptr, no_password, &encrypted));
  ERR_clear_error();
  if (key) return key;
  if (encrypted) {
    return std::unexpected(Fault{source.key_file, "the key is encrypted",
                                 "a key without a pass phrase (openssl pkey -in KEY -out PLAIN)"});
  }
  return std::unexpected(
      Fault{source.key_file, "no private key is in it", "a PEM file with BEGIN PRIVATE KEY"});
}

std::expected<ChainPtr, Fault> load_list(BIO* bio, const std::string& file, std::size_t at_most) {
  ChainPtr list(sk_X509_new_null());
  while (X509* const next = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    sk_X509_push(list.get(), next);
    if (static_cast<std::size_t>(sk_X509_num(list.get())) > at_most) {
      return std::unexpected(Fault{file, fmt::format("more than {} certificates", at_most),
                                   "only those that are needed"});
    }
  }
  const int found = sk_X509_num(list.get());
  if (!ended_well()) {
    return std::unexpected(Fault{
        file, fmt::format("what follows behind {} certificate(s) is no whole certificate", found),
        "a PEM file as its authority has issued it"});
  }
  if (found > 0) return list;
  return std::unexpected(
      Fault{file, "no certificate is in it", "a PEM file with BEGIN CERTIFICATE"});
}

}  // namespace

std::string one_line(const X509_NAME* name) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  if (size <= 0) return {};
  return std::string(text, std::min(static_cast<std::size_t>(size), kMaxNameBytes));
}

std::chrono::sys_seconds to_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  const std::chrono::year_month_day day{std::chrono::year(parts.tm_year + 1900),
                                        std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)),
                                        std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
  return std::chrono::sys_days(day) + std::chrono::hours(parts.tm_hour) +
         std::chrono::minutes(parts.tm_min) + std::chrono::seconds(parts.tm_sec);
}

std::string to_text(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::vector<std::string> dns_names(const X509* certificate) {
  return names_of(certificate, [](int type) { return type == GEN_DNS; });
}

std::vector<std::string> all_names(const X509* certificate) {
  return names_of(certificate, [](int type) { return type == GEN_DNS || type == GEN_IPADD; });
}

std::expected<LoadedCertificate, Fault> load_certificate(const CertificateSource& source) {
  auto bio = open_pem(source.certificate_file, source.certificate_pem, "certificate");
  if (!bio) return std::unexpected(std::move(bio.error()));
  auto list = load_list(bio->get(), source.certificate_file, kMaxChain);
  if (!list) return std::unexpected(std::move(list.error()));
  auto key = load_key(source);
  if (!key) return std::unexpected(std::move(key.error()));

  CertificatePtr certificate(sk_X509_shift(list->get()));
  const bool fits = X509_check_private_key(certificate.get(), key->get()) == 1;
  ERR_clear_error();
  CertificateInfo info{.file = source.certificate_file,
                       .subject = one_line(X509_get_subject_name(certificate.get())),
                       .names = dns_names(certificate.get()),
                       .not_before = to_time(X509_get0_notBefore(certificate.get())),
                       .not_after = to_time(X509_get0_notAfter(certificate.get()))};
  if (!fits) {
    return std::unexpected(
        Fault{source.key_file,
              fmt::format("the key does not belong to the first certificate of {} ({})",
                          source.certificate_file, info.subject),
              "the key that the certificate was requested with; the certificate before its chain"});
  }
  return LoadedCertificate{.info = std::move(info),
                           .certificate = std::move(certificate),
                           .chain = std::move(*list),
                           .key = std::move(*key)};
}

std::expected<ChainPtr, Fault> load_authorities(const std::string& file) {
  auto bio = open_pem(file, {}, "list of authorities");
  if (!bio) return std::unexpected(std::move(bio.error()));
  return load_list(bio->get(), file, kMaxAuthorities);
}

}  // namespace hushgate::tls
