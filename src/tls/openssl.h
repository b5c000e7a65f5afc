// OpenSSL's objects with their owners. For tls/*.cc and its internal headers: what other floors
// include names OpenSSL's types only.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace hushgate::tls {

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const noexcept {
    kFree(object);
  }
};
template <typename T, auto kFree>
using Owned = std::unique_ptr<T, Freed<kFree>>;

inline void free_chain(STACK_OF(X509) * chain) { sk_X509_pop_free(chain, X509_free); }
inline void free_names(STACK_OF(GENERAL_NAME) * names) {
  sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
}
inline void free_ca_names(STACK_OF(X509_NAME) * names) {
  sk_X509_NAME_pop_free(names, X509_NAME_free);
}

using BioPtr = Owned<BIO, BIO_free>;
using BioMethodPtr = Owned<BIO_METHOD, BIO_meth_free>;
using CipherPtr = Owned<EVP_CIPHER, EVP_CIPHER_free>;
using ContextPtr = Owned<SSL_CTX, SSL_CTX_free>;
using SessionPtr = Owned<SSL_SESSION, SSL_SESSION_free>;
using KeyPtr = Owned<EVP_PKEY, EVP_PKEY_free>;
using CertificatePtr = Owned<X509, X509_free>;
using StorePtr = Owned<X509_STORE, X509_STORE_free>;
using ChainPtr = Owned<STACK_OF(X509), free_chain>;
using NamesPtr = Owned<STACK_OF(GENERAL_NAME), free_names>;
using CaNamesPtr = Owned<STACK_OF(X509_NAME), free_ca_names>;

}  // namespace hushgate::tls
