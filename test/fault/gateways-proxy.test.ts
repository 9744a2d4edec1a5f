/** Two gateways behind nginx and behind Caddy, with the files of `examples/several-gateways`: one of them is drained under load. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { connect } from "@svc/sdk/client";
import { root } from "../checkout.ts";
import { directory } from "../directory.ts";
import { freePort } from "../free-port.ts";
import { withoutPostgres } from "../postgres.ts";
import { without } from "../programs.ts";
import { svc } from "../run-svc.ts";
import { until } from "../until.ts";
import { startGateways } from "./gateways.ts";
import { check, drained } from "./hook-checks.ts";
import { openHookScene } from "./hook-scene.ts";
import { HookSenders } from "./hook-senders.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const TOKEN = "token-of-all-gateways";
const EXAMPLE = join(root, "examples/several-gateways");

interface Ports {
  readonly proxy: number;
  readonly gateways: readonly number[];
}

/** The file with the ports of this test. */
async function example(name: string, { proxy, gateways: [one, two] }: Ports): Promise<string> {
  const text = await readFile(join(EXAMPLE, name), "utf8");
  return text.replaceAll("8080", `${proxy}`).replaceAll("18789", `${one}`).replaceAll("18790", `${two}`);
}

const PROXIES = {
  async nginx(place: string, ports: Ports) {
    const file = join(place, "nginx.conf");
    await writeFile(file, await example("nginx.conf", ports));
    const own = `daemon off; error_log ${place}/error.log; pid ${place}/pid;`;
    return ["nginx", "-p", place, "-c", file, "-e", join(place, "error.log"), "-g", own];
  },
  async caddy(place: string, ports: Ports) {
    const file = join(place, "Caddyfile");
    await writeFile(file, `{\n\tadmin off\n}\n${await example("Caddyfile", ports)}`);
    return ["caddy", "run", "--config", file, "--adapter", "caddyfile"];
  },
};

/** Ends with the test. */
function run(t: TestContext, [program = "", ...args]: readonly string[], home: string): () => string {
  const child = spawn(program, args, { env: { ...process.env, HOME: home, XDG_DATA_HOME: home }, cwd: home });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()));
  const closed = once(child, "close");
  t.after(async () => {
    child.kill(); // SIGKILL would leave the worker of nginx
    await closed;
  });
  return () => output;
}

const limited = { timeout: 300_000, skip: withoutPostgres() };

describe("two gateways behind a proxy", limited, () => {
  for (const [name, prepare] of Object.entries(PROXIES))
    it(
      `${name}: clients and webhooks go to the other one while one is drained`,
      { skip: without(name as keyof typeof PROXIES) },
      async (t) => {
        const { stateDir, model } = await openHookScene(t, createRandom(SEED));
        const settings = join(stateDir, "svc.json");
        const config = JSON.parse(await readFile(settings, "utf8")) as object;
        const gateway = { trustedProxies: ["127.0.0.1"], auth: { token: TOKEN } };
        await writeFile(settings, JSON.stringify({ ...config, gateway }));
        const gateways = await startGateways(t, 2, stateDir, { token: TOKEN });
        const place = directory(t);
        const ports = {
          proxy: await freePort(),
          gateways: gateways.origins().map((origin) => Number(new URL(origin).port)),
        };
        const output = run(t, await prepare(place, ports), place);
        const origin = `http://127.0.0.1:${ports.proxy}`;
        const isReady = () =>
          fetch(`${origin}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          );
        await until(isReady, name, 20_000).catch((error: unknown) => assert.fail(`${String(error)}: ${output()}`));

        const client = await connect({ url: origin.replace("http", "ws"), token: TOKEN, reconnect: true });
        t.after(() => client.close());
        const gaps: number[] = [];
        const reconnects: string[] = [];
        client.onGap((expected) => void gaps.push(expected));
        client.onReconnect(({ server }) => void reconnects.push(server.connId));
        const senders = new HookSenders(model.seen);
        senders.origin = origin;
        const over = new AbortController();
        const sending = senders.run(over.signal);
        for (const number of [0, 1]) {
          await pause(1_000);
          const left = await svc(gateways.directories[number] ?? "", ["gateway", "drain"]);
          assert.equal(left.code, 0, left.text);
          await pause(3_000); // the other one alone
          if (number === 0) {
            await gateways.start(0, `${ports.gateways[0]}`);
            await pause(3_000); // the proxy notices
          }
        }
        over.abort();
        await sending;
        await until(
          () =>
            client.request("health", {}).then(
              () => true,
              () => false,
            ),
          "the client",
        );
        await client.call(chat.send, { sessionKey: "main", message: "echo still there", idempotencyKey: "there" });
        assert.equal((await client.call(agents.wait, { runId: "there", timeoutMs: 30_000 })).status, "ok");
        assert.ok(reconnects.length >= 1, "it was on a gateway that was drained");
        assert.deepEqual(gaps, []);
        await drained(client, name);
        await senders.repeatAll();
        await drained(client, name);
        const { interrupted } = await check(client, senders, name);
        assert.equal(interrupted, 0);
        assert.deepEqual(senders.wrong, [], "the proxy passes what one does not take to the other");
        t.diagnostic(`${senders.acknowledged.length} webhooks, ${reconnects.length} reconnects`);
      },
    );
});
