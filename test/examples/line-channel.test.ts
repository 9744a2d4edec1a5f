/** examples/line-channel, as its README says, with a line server of the test. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { root } from "../checkout.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { directory } from "../directory.ts";

it("examples/line-channel answers listed people, ignores others, and reconnects", { timeout: 120_000 }, async (t) => {
  const stateDir = directory(t);
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const config = {
    plugins: { load: { paths: [join(root, "examples/line-channel/lines.ts")] } },
    channels: { lines: { port: (server.address() as AddressInfo).port, allowFrom: ["ann"] } },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const connected = once(server, "connection");
  const gateway = await startGatewayProcess(stateDir, {});
  t.after(() => gateway.kill());

  const talk = async (socket: Socket, said: string) => {
    const reply = once(createInterface({ input: socket }), "line");
    socket.write(said);
    return (await reply)[0] as string;
  };
  const [first] = (await connected) as [Socket];
  assert.equal(await talk(first, "bob echo no\n\nann echo hello\n"), "ann hello");
  const again = once(server, "connection");
  first.destroy();
  const [second] = (await again) as [Socket];
  t.after(() => second.destroy());
  assert.equal(await talk(second, "ann echo back\n"), "ann back");
});
