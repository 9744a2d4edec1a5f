/** A running gateway follows `plugins.*` of its configuration: nothing is restarted, no socket is closed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { config } from "@svc/sdk/config";
import { plugins } from "@svc/sdk/plugins";
import type { TestGateway } from "@svc/sdk/testing";
import { fileGateway } from "../conformance/file-gateway.ts";
import { packageAt as writePackage } from "./carriers/scene.ts";
import { directory } from "../directory.ts";

interface Written {
  readonly id: string;
  /** Result of `<id>.say`. */
  readonly says?: string;
  readonly gates?: readonly string[];
  /** Additional lines of its setup. */
  readonly setup?: string;
  readonly head?: string;
}

/** A package on disk that serves `<id>.say`. */
const packageAt = (place: string, { id, says = id, gates = [], setup = "", head = "" }: Written) =>
  writePackage(place, {
    id,
    manifest: { gates },
    head,
    before: `const Bell = defineService()("bell", "1.0.0");`,
    setup: `serve("say", () => ({ text: ${JSON.stringify(says)} })); ${setup}`,
  });

async function scene(t: TestContext, plugins: object) {
  const home = directory(t);
  const running = await fileGateway(t, JSON.stringify({ plugins }));
  let closed = 0;
  running.client.onClose(() => closed++);
  return {
    ...running,
    home,
    closed: () => closed,
    say: (id: string) =>
      running.client.request(`${id}.say`, {}).then(
        (answer) => (answer as { text: string }).text,
        (error: Error) => error.message,
      ),
    state: (id: string) => running.gateway.plugins().find((plugin) => plugin.id === id)?.state,
  };
}

async function set(client: TestGateway["client"], plugins: object) {
  const { hash } = await client.call(config.get, {});
  await client.call(config.set, { raw: JSON.stringify({ plugins }), ...(hash ? { baseHash: hash } : {}) });
}

const BASE = ["config", "plugins"];

describe("plugins.load.paths", () => {
  it("starts a plugin and stops it again", async (t) => {
    const { client, home, say, state, closed } = await scene(t, { use: BASE });
    const bell = await packageAt(join(home, "bell"), { id: "bell" });
    assert.match(await say("bell"), /^unknown method: bell\.say/);
    await set(client, { use: BASE, load: { paths: [bell] } });
    assert.deepEqual([await say("bell"), state("bell")], ["bell", "active"]);
    await set(client, { use: BASE });
    assert.match(await say("bell"), /^unknown method: bell\.say/);
    assert.deepEqual([state("bell"), closed()], [undefined, 0]);
  });

  it("replaces a plugin with the same one from another directory", async (t) => {
    const { client, home, say, gateway } = await scene(t, { use: BASE });
    const first = await packageAt(join(home, "first"), { id: "bell", says: "first" });
    const second = await packageAt(join(home, "second"), { id: "bell", says: "second" });
    await set(client, { use: BASE, load: { paths: [first] } });
    await set(client, { use: BASE, load: { paths: [second] } });
    assert.equal(await say("bell"), "second");
    assert.equal(gateway.plugins().find(({ id }) => id === "bell")?.generation, 2);
  });

  for (const [what, broken] of [
    ["cannot be imported", { head: "] broken" }],
    ["fails in setup", { setup: 'throw new Error("no");' }],
    ["fails in start", { setup: 'gateway.start(() => { throw new Error("no"); });' }],
  ] as const)
    it(`keeps the first running when the second ${what}`, async (t) => {
      const { client, home, say, state } = await scene(t, { use: BASE });
      const first = await packageAt(join(home, "first"), { id: "bell", says: "first" });
      const second = await packageAt(join(home, "second"), { id: "bell", says: "second", ...broken });
      await set(client, { use: BASE, load: { paths: [first] } });
      await set(client, { use: BASE, load: { paths: [second] } });
      assert.deepEqual([await say("bell"), state("bell")], ["first", "active"]);
      await packageAt(second, { id: "bell", says: "second" });
      const { changed } = await client.call(plugins.align, {});
      assert.deepEqual([changed.map(({ id, ok }) => [id, ok]), await say("bell")], [[["bell", true]], "second"]);
      assert.deepEqual((await client.call(plugins.align, {})).changed, []);
    });
});

describe("plugins.use", () => {
  it("is followed in both directions", async (t) => {
    const { client, state, closed } = await scene(t, { use: [...BASE, "health"] });
    await client.request("health", {});
    await set(client, { use: BASE });
    assert.equal(state("health"), undefined);
    await assert.rejects(client.request("health", {}), /provided by plugin health.*add it to plugins\.use/);
    await set(client, { use: [...BASE, "health"] });
    await client.request("health", {});
    assert.deepEqual([state("health"), closed()], ["active", 0]);
  });
});

describe("plugins.entries.<id>.enabled", () => {
  it("also stops dependent plugins, and starts all of them again", async (t) => {
    const { client, home, say, state } = await scene(t, { use: BASE });
    const bell = await packageAt(join(home, "bell"), {
      id: "bell",
      head: "provides: [Bell],",
      setup: 'gateway.provide(Bell, "dong");',
    });
    const ringer = await packageAt(join(home, "ringer"), { id: "ringer", head: "requires: { bell: Bell }," });
    const paths = [bell, ringer];
    await set(client, { use: BASE, load: { paths } });
    assert.deepEqual([state("bell"), state("ringer")], ["active", "active"]);
    await set(client, { use: BASE, load: { paths }, entries: { bell: { enabled: false } } });
    assert.deepEqual([state("bell"), state("ringer")], ["disabled", "pending"]);
    assert.match(await say("bell"), /provided by plugin bell, which is not enabled \(disabled/);
    await set(client, { use: BASE, load: { paths } });
    assert.deepEqual([await say("bell"), await say("ringer")], ["bell", "ringer"]);
  });

  it("opens the gates of a disabled plugin, and shuts those of a failed one", async (t) => {
    const { client, home } = await scene(t, { use: [...BASE, "health"] });
    const guard = { id: "guard", gates: ["rpcBefore:health"] };
    const deny = 'gateway.hooks.rpcBefore.for("health").tap(() => ({ allow: false, reason: "closed" }));';
    const path = await packageAt(join(home, "guard"), { ...guard, setup: deny });
    const use = [...BASE, "health"];
    await set(client, { use, load: { paths: [path] } });
    await assert.rejects(client.request("health", {}), /closed/);
    await set(client, { use, load: { paths: [path] }, entries: { guard: { enabled: false } } });
    await client.request("health", {});
    await packageAt(path, { ...guard, setup: 'throw new Error("no");' });
    await set(client, { use, load: { paths: [path] } });
    await assert.rejects(client.request("health", {}), /guard is not running/);
    await set(client, { use });
    await client.request("health", {});
  });
});
