// Java's HttpClient through the running examples: java Client.java MODELS STACK WEB
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

public class Client {
  interface Body { String run() throws Exception; }

  static boolean failed = false;

  static void check(String name, Body body) {
    long begin = System.nanoTime();
    try {
      String said = body.run();
      System.out.printf("ok   java: %s%s (%d ms)%n", name, said.isEmpty() ? "" : ": " + said,
                        (System.nanoTime() - begin) / 1_000_000);
    } catch (Exception fault) {
      failed = true;
      System.out.println("FAIL java: " + name + ": " + fault);
    }
  }

  static void same(Object seen, Object expected) throws IOException {
    if (!seen.equals(expected)) throw new IOException("expected " + expected + ", seen " + seen);
  }

  static HttpRequest.Builder to(String url) {
    return HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(60));
  }

  public static void main(String[] arguments) throws Exception {
    String models = arguments[0], stack = arguments[1], web = arguments[2];
    // As it comes: it asks for an upgrade to h2c with its first request, which must not disturb anybody.
    HttpClient client = HttpClient.newHttpClient();

    check("300 requests at once, each its own answer", () -> {
      String tag = UUID.randomUUID().toString();
      List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
      for (int n = 0; n < 300; n++) {
        HttpRequest request = n % 2 == 0
            ? to(web + "/notes/who").build()
            : to(web + "/order?number=" + tag + "-" + n).POST(BodyPublishers.ofString("x")).build();
        all.add(client.sendAsync(request, BodyHandlers.ofString()));
      }
      for (int n = 0; n < all.size(); n++) {
        HttpResponse<String> answer = all.get(n).get();
        same(answer.statusCode(), n % 2 == 0 ? 200 : 201);
        same(n % 2 == 0 || answer.body().equals("{\"number\":\"" + tag + "-" + n + "\",\"ordered\":1}"), true);
      }
      return "";
    });

    check("uploads with and without a length", () -> {
      byte[] data = new byte[5_000_000];
      new Random(1).nextBytes(data);
      String hash = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
      for (var body : List.of(BodyPublishers.ofByteArray(data),
                              BodyPublishers.ofInputStream(() -> new java.io.ByteArrayInputStream(data)))) {
        String told = client.send(to(web + "/notes/upload").PUT(body).build(), BodyHandlers.ofString()).body();
        same(told.contains(hash), true);
      }
      String told = client.send(to(web + "/notes/upload").expectContinue(true).PUT(BodyPublishers.ofByteArray(data)).build(),
                                BodyHandlers.ofString()).body();
      same(told.contains(hash), true);
      return "the third with Expect: 100-continue";
    });

    check("a model's stream, line by line behind its silence", () -> {
      String body = "{\"model\":\"x\",\"stream\":true}";
      HttpRequest request = to(models + "/v1/chat/completions").header("Content-Type", "application/json")
          .POST(BodyPublishers.ofString(body)).build();
      String text = client.send(request, BodyHandlers.ofLines()).body().filter(line -> line.contains("\"content\""))
          .map(line -> line.replaceAll(".*\"content\":\"([^\"]*)\".*", "$1")).collect(Collectors.joining());
      same(text, "Silence is not an error.");
      return "";
    });

    check("a WebSocket", () -> {
      BlockingQueue<String> heard = new ArrayBlockingQueue<>(1000);
      WebSocket socket = client.newWebSocketBuilder().buildAsync(
          URI.create(stack.replace("http", "ws") + "/realtime/v1/websocket?vsn=1.0.0"), new WebSocket.Listener() {
            final StringBuilder parts = new StringBuilder();
            @Override public CompletionStage<?> onText(WebSocket from, CharSequence part, boolean last) {
              parts.append(part);
              if (last) {
                heard.add(parts.toString());
                parts.setLength(0);
              }
              from.request(1);
              return null;
            }
          }).get(20, TimeUnit.SECONDS);
      for (int n = 0; n < 100; n++) {
        socket.sendText("{\"topic\":\"phoenix\",\"event\":\"heartbeat\",\"payload\":{},\"ref\":\"" + n + "\"}", true).get();
        String answer = heard.poll(20, TimeUnit.SECONDS);
        same(answer != null && answer.contains("\"ref\":\"" + n + "\""), true);
      }
      socket.sendClose(WebSocket.NORMAL_CLOSURE, "enough").get();
      return "";
    });
    System.exit(failed ? 1 : 0);
  }
}
