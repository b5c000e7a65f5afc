// Java's own HttpClient over TLS: TlsClient.java URL AUTHORITY. Exits with 0 if all was well, and says what was not.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class TlsClient {
  static SSLContext trusting(String file) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (FileInputStream in = new FileInputStream(file)) {
      store.setCertificateEntry("a", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  static void need(boolean holds, Object seen) {
    if (holds) return;
    System.out.println(seen);
    System.exit(1);
  }

  public static void main(String[] args) throws Exception {
    HttpClient client = HttpClient.newBuilder().sslContext(trusting(args[1])).build();
    byte[] body = new byte[1_000_000];
    for (int n = 0; n < 10; ++n) {
      HttpRequest.Builder ask = HttpRequest.newBuilder(URI.create(args[0] + "/echo"));
      var got = client.send(ask.POST(BodyPublishers.ofByteArray(body)).build(), BodyHandlers.ofByteArray());
      need(got.statusCode() == 200 && got.body().length == body.length, got);
      var text = client.send(HttpRequest.newBuilder(URI.create(args[0] + "/a")).build(), BodyHandlers.ofString());
      need(text.statusCode() == 200 && text.body().equals("GET /a"), text.body());
      need(text.version() == HttpClient.Version.HTTP_2, text.version());
    }
    var stream = client.send(HttpRequest.newBuilder(URI.create(args[0] + "/stream")).build(), BodyHandlers.ofLines());
    need(stream.body().filter(line -> line.startsWith("data:")).count() == 2, "the stream");
  }
}
