/** Errors nobody awaited are charged to their plugin and the gateway lives. In a process of its own, since they are process-wide. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { GatewayInfo } from "@svc/sdk/services";
import { connect } from "@svc/sdk/client";
import { root } from "../checkout.ts";

/** A plugin whose method breaks something a moment later, and one that tells what the gateway thinks of it. */
const PLUGIN = `
import { defineContract, definePlugin, Type } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/services";
import { EventEmitter } from "node:events";
const Any = Type.Object({});
const stray = defineContract("stray", {
  break: { summary: "-", scope: "operator.write", params: Type.Object({ how: Type.String() }), result: Any },
  errors: { summary: "-", scope: "operator.read", params: Any, result: Any },
});
const ways = {
  timer: () => setTimeout(() => { throw new Error("timer"); }, 5),
  immediate: () => setImmediate(() => { throw new Error("immediate"); }),
  tick: () => process.nextTick(() => { throw new Error("tick"); }),
  rejection: () => { Promise.reject(new Error("rejection")); },
  later: () => { setTimeout(() => Promise.reject(new Error("later")), 5); },
  async: () => { (async () => { await new Promise((r) => setTimeout(r, 5)); throw new Error("async"); })(); },
};
export default definePlugin({
  id: "stray", api: "^1.0.0", requires: { info: GatewayInfo },
  setup(gateway) {
    gateway.serve(stray, {
      break: ({ params }) => { ways[params.how](); return {}; },
      errors: () => ({ errors: gateway.services.info.plugins().find(({ id }) => id === "stray").errors }),
    });
  },
});
`;

async function startProcess(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "svc-stray-"));
  const plugin = join(directory, "stray.ts");
  await writeFile(plugin, PLUGIN);
  await writeFile(join(directory, "svc.json"), JSON.stringify({ plugins: { use: [plugin] } }));
  const child = spawn(
    process.execPath,
    [join(root, "host/svc.js"), "gateway", "run", "--port", "0", "--json", "--log-level", "silent"],
    {
      env: { ...process.env, SVC_STATE_DIR: directory, SVC_CONFIG_PATH: "" },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(directory, { recursive: true, force: true });
  });
  const [line] = await new Promise<string[]>((resolve) => {
    createInterface(child.stdout).once("line", (text) => resolve([text]));
  });
  const { url } = JSON.parse(String(line)) as { url: string };
  const { readFile } = await import("node:fs/promises");
  const token = (await readFile(join(directory, "credentials/gateway-token"), "utf8")).trim();
  const client = await connect({ url, token });
  t.after(() => client.close());
  return { client, exited };
}

describe("a stray error", () => {
  for (const how of ["timer", "immediate", "tick", "rejection", "later", "async"]) {
    it(`from ${how} costs only its plugin, and is charged to it`, async (t) => {
      const { client } = await startProcess(t);
      await client.request("stray.break", { how });
      let errors = 0;
      for (let turn = 0; turn < 100 && errors === 0; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        ({ errors } = (await client.request("stray.errors")) as { errors: number });
      }
      assert.equal(errors, 1);
    });
  }
});

assert.ok(GatewayInfo, "the service the plugin above asks for");
