/** A TCP proxy that can stop passing anything on, as a broken network does: connections stay open and silent. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import type { TestContext } from "node:test";

export interface PausingProxy {
  readonly port: number;
  pause(): void;
  /** Ends the connections of the pause, as a network does that has forgotten them, and passes on those that come. */
  resume(): void;
}

/** Closed with the test. */
export async function pausingProxy(t: TestContext, target: { host: string; port: number }): Promise<PausingProxy> {
  const sockets = new Set<Socket>();
  let isPaused = false;
  const server = createServer((near) => {
    const far = connect(target);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
    const pass = (from: Socket, to: Socket) => {
      from.on("data", (bytes) => {
        if (!isPaused) to.write(bytes);
      });
      from.on("close", () => {
        sockets.delete(from);
        if (!isPaused) to.destroy();
      });
    };
    pass(near, far);
    pass(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const drop = () => sockets.forEach((socket) => socket.destroy());
  t.after(() => {
    server.close();
    drop();
  });
  return {
    port: (server.address() as AddressInfo).port,
    pause: () => void (isPaused = true),
    resume() {
      drop();
      isPaused = false;
    },
  };
}
