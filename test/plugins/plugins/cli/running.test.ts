// long: starts whole programs
/** `svc plugins ...` with and without a running gateway. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { home } from "../../../host/cli/svc.ts";

const SOURCE = (body: string) =>
  `import { definePlugin, defineService } from "@svc/sdk";
const Ink = defineService()("ink", "1.0.0");
export default definePlugin({ api: "^1.0.0", ${body} });
`;

/** `pen` needs what `well` provides. */
function desk(t: TestContext, plugins: object, well = 'id: "well", provides: [Ink], setup(g) { g.provide(Ink, {}); }') {
  const here = home(t, { plugins });
  const write = (name: string, body: string) =>
    writeFileSync(join(dirname(here.configPath), `${name}.ts`), SOURCE(body));
  write("pen", 'id: "pen", requires: { ink: Ink }, setup() {}');
  write("well", well);
  return { ...here, write };
}

const both = ["plugins", "./pen.ts", "./well.ts"];

describe("svc plugins list", { timeout: 120_000 }, () => {
  it("tells what the running gateway says, and that it does", async (t) => {
    const here = desk(t, { use: both });
    const { stop } = await here.run();
    const running = JSON.parse((await here.svc(["plugins", "list", "--json"])).stdout);
    assert.equal(running.source, "gateway");
    const states = (rows: { id: string; state: string }[]) => rows.map(({ id, state }) => `${id} ${state}`).sort();
    assert.deepEqual(
      states(running.plugins).filter((row) => row.endsWith(" active")),
      ["pen active", "plugins active", "well active"],
    );
    assert.match((await here.svc(["plugins", "list"])).stdout, /^PLUGIN +VERSION +STATE +ABOUT\n/);
    await stop();
    const { stdout, stderr } = await here.svc(["plugins", "list"]);
    assert.match(stdout, /^PLUGIN +VERSION +LAST START +ABOUT\n/);
    assert.match(stderr, /^States of the last start: cannot reach ws:/);
  });

  it("tells of the last start when the gateway does not have plugins.list", async (t) => {
    const here = home(t, { plugins: { use: ["config"] } });
    await here.run();
    const { stdout, stderr } = await here.svc(["plugins", "list"]);
    assert.match(stdout, /^config +\S+ +asleep/m);
    assert.match(stderr, /^States of the last start: unknown method: plugins\.list/);
  });

  it("tells of no other gateway than the one that --url names", async (t) => {
    const here = home(t, { plugins: { use: ["config"] } });
    await (await here.run()).stop();
    const { code, stdout } = await here.svc(["plugins", "list", "--url", "ws://127.0.0.1:1"]);
    assert.deepEqual([code, stdout], [3, ""]);
  });

  it("waits a second at most for something that never answers", async (t) => {
    const here = home(t, { plugins: { use: ["config"] } });
    await (await here.run()).stop();
    const mute = createServer(() => {}).listen(0, "127.0.0.1");
    t.after(() => mute.close());
    if (!mute.listening) await new Promise((resolve) => mute.once("listening", resolve));
    const env = { SVC_GATEWAY_PORT: String((mute.address() as AddressInfo).port) };
    const { code, stdout } = await here.svc(["plugins", "list", "--json"], env);
    assert.deepEqual([code, JSON.parse(stdout).source], [0, "last start"]);
  });
});

describe("svc plugins reload", { timeout: 120_000 }, () => {
  it("puts the new code in place, and restarts what needs it", async (t) => {
    const here = desk(t, { use: both });
    await here.run();
    const { code, stdout, stderr } = await here.svc(["plugins", "reload", "well"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^well: reloaded, generation 2; calls to it were held \d+ ms\nrestarted with it: pen\n$/);
  });

  it("exits 1 when the new version does not come up, and says why", async (t) => {
    const here = desk(t, { use: both });
    await here.run();
    here.write("well", 'id: "well", provides: [Ink], setup() { throw new Error("dry"); }');
    const { code, stdout } = await here.svc(["plugins", "reload", "well"]);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^well: not reloaded: .*dry\nthe previous version keeps running .*\nNext: svc plugins why well\n$/,
    );
  });

  it("names the next command when there is no such plugin, no such method or no gateway", async (t) => {
    const here = desk(t, { use: both });
    const { stop } = await here.run();
    const unknown = await here.svc(["plugins", "reload", "nobody"]);
    assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
    assert.match(unknown.stderr, /^NOT_FOUND: .*\nNext: svc plugins list\n$/);
    await stop();
    const gone = await here.svc(["plugins", "reload", "well"]);
    assert.equal(gone.code, 3);
    assert.match(gone.stderr, /Next: start it with: svc gateway run/);
    const without = home(t, { plugins: { use: ["config"] } });
    await without.run();
    const { code, stderr } = await without.svc(["plugins", "reload", "config"]);
    assert.equal(code, 1);
    assert.match(stderr, /unknown method: plugins\.reload.*\nNext: .*svc config get plugins\.use\n$/);
  });
});

describe("svc plugins why", { timeout: 120_000 }, () => {
  const off = { use: both, entries: { well: { enabled: false } } };

  it("names what it waits for, who has it, and the next command: with files alone", async (t) => {
    const { svc } = desk(t, off);
    const { code, stdout, stderr } = await svc(["plugins", "why", "pen"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(
      stdout,
      [
        "pen: not started yet",
        "  waits for  the service ink 1.0.0",
        "  provided   by well (disabled)",
        "Next: svc config set plugins.entries.well.enabled true",
        "",
      ].join("\n"),
    );
    const well = await svc(["plugins", "why", "well"]);
    assert.match(
      well.stdout,
      /^well: disabled\n {2}reason .*\nNext: svc config set plugins\.entries\.well\.enabled true\n$/,
    );
  });

  it("the same of a running gateway, and of one that is stopped", async (t) => {
    const here = desk(t, off);
    const { stop } = await here.run();
    const ask = async () => JSON.parse((await here.svc(["plugins", "why", "pen", "--json"])).stdout);
    const running = await ask();
    assert.deepEqual([running.state, running.source], ["pending", "gateway"]);
    assert.match(running.reason, /ink/);
    assert.deepEqual(running.waitsFor, [{ service: "ink 1.0.0", providers: [{ id: "well", state: "disabled" }] }]);
    await stop();
    assert.deepEqual(await ask(), { ...running, source: "last start" });
    assert.match((await here.svc(["plugins", "why", "pen"])).stdout, /^pen: pending \(at the last start\)\n/);
  });

  it("says how to use one of the bundle that is not in use", async (t) => {
    const { svc } = home(t, { plugins: { use: ["config"] } });
    const { stdout } = await svc(["plugins", "why", "plugins"]);
    assert.equal(stdout, "plugins: not in use\nNext: svc config set 'plugins.use[1]' plugins\n");
    assert.equal((await svc(["config", "set", "plugins.use[1]", "plugins"])).code, 0);
    assert.equal(
      (await svc(["plugins", "why", "plugins"])).stdout,
      "plugins: not started yet\nNext: svc gateway run\n",
    );
  });

  it("says what keeps one from being imported", async (t) => {
    const here = desk(t, { use: ["./broken.ts"] });
    here.write("broken", 'id: "broken", setup() { ');
    const { code, stdout } = await here.svc(["plugins", "why", "./broken.ts"]);
    assert.equal(code, 0);
    assert.match(stdout, /^\.\/broken\.ts: blocked\n {2}reason +import: /);
  });

  it("says when there is none of that name, and what to do", async (t) => {
    const { code, stdout, stderr } = await home(t, { plugins: { use: ["config"] } }).svc(["plugins", "why", "nobody"]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^no plugin "nobody" here\nNext: svc plugins list/);
  });
});
