/** Calls of `send` while the channel of a new gateway is still starting: they get a retry time, never an error that the channel does not exist. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { isGatewayError } from "@svc/sdk";
import { connect } from "@svc/sdk/client";
import { freePort } from "../free-port.ts";
import { plugins } from "@svc/sdk/plugins";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { pause } from "./workload.ts";
import { directory } from "../directory.ts";

/** Milliseconds. */
const SLOW_MS = 1_000;
const DOVE = `import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
await new Promise((resolve) => setTimeout(resolve, ${SLOW_MS}));
export default definePlugin({
  id: "dove",
  api: "^1.0.0",
  setup(gateway) {
    gateway.start(() => new Promise((resolve) => setTimeout(resolve, ${SLOW_MS}, undefined)));
    gateway.extend(Channel, "dove", defineChannel({
      label: "Dove",
      capabilities: { chats: ["direct"], maxTextChars: 4_000 },
      accounts: [{ id: "default", allowFrom: ["*"], settings: {} }],
      target: (text) => text,
      async run(run) {
        run.report({ state: "connected" });
        await new Promise((resolve) => run.signal.addEventListener("abort", resolve, { once: true }));
      },
      send: async () => ({}),
    }));
  },
});
`;

it(
  "callers of a channel that is loading or being replaced wait, or get UNAVAILABLE with a retry time",
  { timeout: 120_000 },
  async (t) => {
    const stateDir = directory(t);
    await writeFile(join(stateDir, "dove.ts"), DOVE);
    await writeFile(join(stateDir, "svc.json"), JSON.stringify({ plugins: { load: { paths: ["./dove.ts"] } } }));
    await (await startGatewayProcess(stateDir)).kill(); // creates the token and the compiled code
    const token = (await readFile(join(stateDir, "credentials/gateway-token"), "utf8")).trim();
    const port = await freePort();
    const starting = startGatewayProcess(stateDir, {}, { port: String(port) });
    t.after(async () => (await starting).kill());
    let asked = 0;
    /** Connects and sends repeatedly until `over`, then once more. @returns the number of sends, and the refusals */
    const sendUntil = async (over: Promise<unknown>) => {
      const refusals = new Set<string>();
      let isOver = false;
      void over.then(() => (isOver = true));
      for (let sent = 0; ; await pause(10)) {
        const isLast = isOver;
        const client = await connect({ url: `ws://127.0.0.1:${port}`, token, reconnect: false }).catch(() => undefined);
        const message = { channel: "dove", to: "ann", message: "hi", idempotencyKey: `early-${asked++}` };
        await client
          ?.request("send", message)
          .then(() => (sent += 1))
          .catch((error: unknown) => {
            assert.ok(isGatewayError(error), String(error));
            refusals.add(`${error.code} ${typeof error.retryAfterMs}: ${error.message}`);
          });
        await client?.close();
        if (isLast) return { sent, refusals };
      }
    };
    for (const step of [starting, starting.then(reload)]) {
      const { sent, refusals } = await sendUntil(step);
      t.diagnostic(`${sent} sent, refused with: ${[...refusals].join(", ")}`);
      assert.ok(sent > 0);
      for (const refusal of refusals) assert.match(refusal, /^UNAVAILABLE number: /);
    }
  },
);

async function reload(gateway: GatewayProcess): Promise<void> {
  const client = await gateway.connect();
  const { ok, reason } = await client.call(plugins.reload, { id: "dove" });
  assert.ok(ok, reason);
  await client.close();
}
