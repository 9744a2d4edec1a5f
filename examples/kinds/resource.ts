import { createServer } from "node:net";
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "echo",
  api: "^1.0.0",
  setup(gateway) {
    // `setup` opens nothing. `start` acquires a resource and returns what releases it.
    gateway.start(async () => {
      const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      return () => new Promise<void>((resolve) => server.close(() => resolve()));
    });
    gateway.after(1_000, () => gateway.log.debug({}, "one second after the start"));
  },
});
