// Vite as it comes: on "localhost", which is ::1 on some machines and 127.0.0.1 on others. hushgate finds it on either.
export default {
  clearScreen: false,
  server: { port: Number(process.env.PORT ?? 8731), strictPort: true },
};
