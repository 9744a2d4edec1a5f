// long: wakes the whole bundle
/** Sleeping plugins: listed without importing their code, woken by the first use, and otherwise like awake ones. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { defineExtensionPoint, defineHook, defineService, type ExtensionView, live, optional, Type } from "@svc/sdk";
import { connect } from "@svc/sdk/client";
import { createGateway } from "../../../host/gateway.ts";
import { write } from "../../../host/carriers/written.ts";
import { KINDS } from "../../../host/kernel/kinds/index.ts";
import { importPlugin } from "../../../host/kernel/load.ts";
import { checkPlugin } from "../../../plugins/dev/check/check-task.ts";
import type { Finding } from "../../../plugins/dev/check/findings.ts";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { home as svcHome } from "../cli/svc.ts";
import { until } from "./scene.ts";

const limited = { timeout: 120_000 };

interface Written {
  readonly id?: string;
  readonly head?: string;
  readonly setup: string;
  /** Lines before the plugin. */
  readonly before?: string;
  readonly svc?: object;
}

/** The entry appends its id to `global.imported` when it is imported. */
function writeEntry(directory: string, { id = "guest", head = "", setup, before = "" }: Written): void {
  writeFileSync(
    join(directory, "plugin.mjs"),
    `import { defineContract, defineEvent, defineExtensionPoint, defineHook, definePlugin, defineService, GatewayError, Type } from ${JSON.stringify(join(root, "sdk/dist/index.js"))};
(globalThis.imported ??= []).push("${id}");
const Any = Type.Object({}, { additionalProperties: true });
const method = (key) => defineContract("${id}", { [key]: { summary: "-", scope: "operator.read", params: Any, result: Any } });
${before}
export default definePlugin({ id: "${id}", api: "^1.0.0", ${head}
  setup(gateway) {
    const serve = (key, handler) => gateway.serve(method(key), { [key]: handler });
    ${setup}
  },
});
`,
  );
}

function writeManifest(directory: string, svc: { id: string; entry: string; namespaces: string[] }): void {
  mkdirSync(directory, { recursive: true });
  const json = { name: svc.id, version: "1.0.0", type: "module", svc: { api: "^1.0.0", ...svc } };
  writeFileSync(join(directory, "package.json"), JSON.stringify(json));
}

/** Writes a built package: an entry in plain JavaScript, and its `declared.json`. */
async function packageIn(home: string, written: Written): Promise<string> {
  const { id = "guest", svc = {} } = written;
  const directory = join(home, id);
  writeManifest(directory, { id, entry: "./plugin.mjs", namespaces: [id], ...svc });
  writeEntry(directory, written);
  const file = join(directory, "plugin.mjs");
  writeFileSync(
    join(directory, "declared.json"),
    JSON.stringify(await write(await importPlugin(file, false), KINDS, file)),
  );
  writeEntry(directory, written); // newer than the import above, so that the gateway imports it again
  return directory;
}

const seen = globalThis as { imported?: string[]; log?: string[] };

type Options = Parameters<typeof createGateway>[0];

async function start(t: TestContext, plugins: NonNullable<Options>["plugins"], options: Options = {}) {
  seen.imported = [];
  seen.log = [];
  const gateway = await createGateway({
    plugins: ["plugins", ...(plugins ?? [])],
    config: {},
    env: {},
    port: 0,
    auth: { mode: "none" },
    logLevel: "silent",
    stateDir: join(directory(t), "state"),
    ...options,
  });
  t.after(() => gateway.stop());
  const client = await connect({ url: gateway.url });
  t.after(() => client.close());
  const report = (id = "guest") => gateway.plugins().find((plugin) => plugin.id === id);
  return { gateway, client, report, asleep: (id = "guest") => report(id)?.asleep === true };
}

async function sleeping(t: TestContext, written: Written, options: Options = {}) {
  const path = await packageIn(directory(t), written);
  return { ...(await start(t, [path], options)), path };
}

describe("a plugin that is asleep", limited, () => {
  const greeting: Written = { setup: `globalThis.log?.push("setup"); let n = 0; serve("hi", () => ({ n: ++n }));` };

  it("is listed with its methods, and its code is imported once, by the first call", async (t) => {
    const { gateway, client, report, asleep } = await sleeping(t, greeting);
    assert.deepEqual([report()?.state, asleep(), seen.imported], ["active", true, []]);
    assert.ok(client.hello.features.methods.includes("guest.hi"));
    assert.deepEqual(gateway.holdings()["methods"], 11);
    await assert.rejects(client.request("guest.nothing", {}), { code: "INVALID_REQUEST" });
    assert.equal(asleep(), true);
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.request("guest.hi", {})));
    assert.deepEqual(
      answers.map((answer) => (answer as { n: number }).n).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
    assert.deepEqual([report()?.state, asleep(), seen.log], ["active", false, ["setup"]]);
    assert.equal(gateway.holdings()["methods"], 11, "the same declarations, now its own");
    assert.equal(typeof report()?.importMs, "number");
  });

  it("is woken by a route", async (t) => {
    const { gateway, asleep } = await sleeping(t, {
      setup: `gateway.route({ method: "GET", path: "/plugins/guest/x", auth: "plugin", summary: "-", handler: ({ query }) => ({ body: "you " + query.get("q") }) });`,
    });
    const answer = await fetch(`${gateway.url.replace("ws", "http")}/plugins/guest/x?q=said`);
    assert.deepEqual([answer.status, await answer.text(), asleep()], [200, "you said", false]);
  });

  it("is woken by a hook it taps, which gets the tap's result", async (t) => {
    const { client, asleep } = await sleeping(t, {
      setup: `gateway.hooks.hello.tap((extra) => ({ ...extra, guest: "here" }));`,
    });
    assert.equal((client.hello.snapshot as unknown as Record<string, unknown>)["guest"], "here");
    assert.equal(asleep(), false);
  });

  interface Sayer {
    label: string;
    say(text: string): Promise<string>;
    count(to: number): AsyncIterable<number>;
  }
  const Point = defineExtensionPoint<Sayer>("test.point", { remotable: true });
  const owning = () => {
    let view: ExtensionView<Sayer> | undefined;
    const owner = pluginOf("owner", (gateway) => void (view = gateway.own(Point)));
    return { owner, guest: () => view?.get("x")?.value };
  };
  const contributing = `gateway.extend(defineExtensionPoint("test.point", { remotable: true }), "x", {
    label: "shown",
    say: async (text) => { if (text === "no") throw new GatewayError("NOT_FOUND", "no such text"); return text + "!"; },
    async *count(to) { for (let at = 1; at <= to; at++) yield at; },
  });`;

  it("is woken by a function of a contribution; the data of the contribution is available before", async (t) => {
    const path = await packageIn(directory(t), { setup: contributing });
    const { owner, guest } = owning();
    const { asleep, report } = await start(t, [path, owner]);
    const value = guest();
    assert.deepEqual([value?.label, asleep(), report()?.inert], ["shown", true, []]);
    const counted: number[] = [];
    for await (const n of value?.count(3) ?? []) counted.push(n);
    assert.deepEqual([counted, asleep()], [[1, 2, 3], false]);
    assert.equal(await value?.say("a"), "a!", "the stand-in goes on working");
    await assert.rejects(async () => value?.say("no"), { code: "NOT_FOUND", message: "no such text" });
    assert.equal(await guest()?.say("b"), "b!");
  });

  it("is awake at the start if its section differs from the defaults, or by the operator's setting", async (t) => {
    const path = await packageIn(directory(t), {
      head: `config: Type.Object({ n: Type.Integer({ default: 1 }) }), sections: { lists: Type.Array(Type.String(), { default: ["a"] }) },`,
      setup: `serve("n", () => ({ n: gateway.config.n })); serve("list", () => ({ list: gateway.sections.lists }));`,
    });
    const untouched = await start(t, [path], { config: { guest: { n: 1 } } });
    assert.equal(untouched.asleep(), true);
    assert.deepEqual(await untouched.client.request("guest.list", {}), { list: ["a"] });
    const configured = await start(t, [path], { config: { guest: { n: 2 } } });
    assert.equal(configured.asleep(), false);
    assert.deepEqual(await configured.client.request("guest.n", {}), { n: 2 });
    const wanted = await start(t, [path], { config: { plugins: { entries: { guest: { wake: "start" } } } } });
    assert.deepEqual([wanted.report()?.state, wanted.asleep()], ["active", false]);
    await assert.rejects(start(t, [path], { config: { guest: { n: "two" } } }), /guest\.n: must be/);
  });

  it("releases what its use acquired, and nothing if it was never used", async (t) => {
    const setup = `gateway.onStop(() => void globalThis.log?.push("released")); serve("hi", () => ({}));`;
    for (const [isUsed, log] of [
      [true, ["released"]],
      [false, []],
    ] as const) {
      const { client, gateway, asleep } = await sleeping(t, { setup });
      assert.equal(asleep(), true);
      if (isUsed) await client.request("guest.hi", {});
      await gateway.stop();
      assert.deepEqual(seen.log, log);
    }
  });

  it("misses a hook that it taps only while it is awake", async (t) => {
    const setup = `gateway.hooks.rpcAfter.tap(({ method }) => void globalThis.log?.push(method), { onlyAwake: true });
      gateway.hooks.runEvent.tap(() => {}, { onlyAwake: true }); serve("hi", () => ({}));`;
    const { client, asleep } = await sleeping(t, { setup });
    await client.request("plugins.list", {});
    assert.deepEqual([asleep(), seen.log], [true, []]);
    await client.request("guest.hi", {});
    await client.request("plugins.list", {});
    await until(() => seen.log?.includes("plugins.list") === true, "the tap");
    assert.equal(asleep(), false);
  });

  describe("whose section changes", () => {
    const checked: Written = {
      head: `config: Type.Object({ n: Type.Optional(Type.Refine(Type.Integer(), (n) => n % 2 === 0, () => "must be even")) }),`,
      setup: `serve("n", () => ({ n: gateway.config.n ?? null }));`,
    };
    const scene = async (t: TestContext, guest?: object, written = checked) => {
      const home = directory(t);
      const stateDir = join(home, "state");
      mkdirSync(stateDir);
      writeFileSync(join(stateDir, "svc.json"), JSON.stringify(guest ? { guest } : {}));
      const plugins = ["config", await packageIn(home, written)];
      const scene = await start(t, plugins, { stateDir, config: undefined as never });
      const patch = async (n: number) => {
        const { hash } = (await scene.client.request("config.get", {})) as { hash: string };
        return scene.client.request("config.patch", { raw: JSON.stringify({ guest: { n } }), baseHash: hash });
      };
      return { ...scene, patch, file: () => readFileSync(join(stateDir, "svc.json"), "utf8") };
    };
    const refused = { code: "INVALID_REQUEST", details: { issues: [{ path: "guest.n", message: "must be even" }] } };

    it("is imported if its code has to validate the change; an invalid change is refused", async (t) => {
      const { client, asleep, patch, file } = await scene(t);
      assert.deepEqual([asleep(), seen.imported], [true, []]);
      await assert.rejects(patch(3), refused);
      assert.deepEqual([file(), seen.imported], ["{}", ["guest"]]);
      await patch(4);
      assert.deepEqual([await client.request("guest.n", {}), asleep(), seen.imported], [{ n: 4 }, false, ["guest"]]);
      await assert.rejects(patch(5), refused);
    });

    it("is woken by a change of a hot key, which it applies without a reload", async (t) => {
      const hot = `n: Type.Integer({ default: 1, reload: "hot" })`;
      const { client, asleep, report, patch } = await scene(t, undefined, {
        head: `config: Type.Object({ ${hot} }),`,
        setup: `let { config } = gateway; gateway.configChanged((next) => { config = next; }); serve("n", () => config);`,
      });
      assert.equal(asleep(), true);
      await patch(2);
      assert.deepEqual([await client.request("guest.n", {}), asleep(), report()?.generation], [{ n: 2 }, false, 1]);
    });

    it("is imported at the start if its section needs validation by its code", async (t) => {
      const right = await scene(t, { n: 2 });
      assert.deepEqual([right.report()?.state, right.asleep()], ["active", false]);
      await assert.rejects(scene(t, { n: 3 }), /^ {2}guest\.n: must be even$/m);
    });
  });

  const Ink = `const Ink = defineService()("ink", "1.0.0");`;
  const well: Written = {
    id: "well",
    before: Ink,
    head: "provides: [Ink],",
    setup: `gateway.provide(Ink, { colour: () => "blue" }); serve("x", () => ({}));`,
  };

  for (const run of ["worker", "process"] as const)
    describe(`that runs in a ${run}`, () => {
      const elsewhere: Written = {
        before: `import { writeFileSync } from "node:fs"; import { isMainThread } from "node:worker_threads"; let n = 0;`,
        setup: `gateway.onStop(() => writeFileSync(gateway.stateDir + "/released", ""));
          serve("hi", () => ({ n: ++n, here: isMainThread && process.pid === ${process.pid} })); serve("die", () => process.exit(3));`,
      };
      const scene = async (t: TestContext, written: Written) => {
        const config = { plugins: { entries: { guest: { run } } } };
        const scene = await sleeping(t, written, { config });
        return { ...scene, isStarted: () => existsSync(join(scene.gateway.paths.stateDir, "plugins/guest")) };
      };

      it("has no thread or process before its first use; that one is restarted when it ends, and releases what it acquired", async (t) => {
        const { client, gateway, report, asleep, isStarted } = await scene(t, elsewhere);
        assert.deepEqual([report()?.state, report()?.placement, asleep(), isStarted()], ["active", run, true, false]);
        const answers = await Promise.all(Array.from({ length: 5 }, () => client.request("guest.hi", {})));
        assert.deepEqual(
          answers,
          [1, 2, 3, 4, 5].map((n) => ({ n, here: false })),
        );
        assert.deepEqual([report()?.state, asleep(), isStarted()], ["active", false, true]);
        await client.request("guest.die", {}).catch(() => undefined);
        await until(() => report()?.generation === 2 && report()?.state === "active", "the next attempt");
        assert.deepEqual(await client.request("guest.hi", {}), { n: 1, here: false });
        await gateway.stop();
        assert.ok(existsSync(join(gateway.paths.stateDir, "plugins/guest/released")));
      });

      it("is `failed` if it does not wake, until a reload fixes it", async (t) => {
        const { client, path, report } = await scene(t, elsewhere);
        writeFileSync(join(path, "plugin.mjs"), `throw new Error("no longer");`);
        await assert.rejects(client.request("guest.hi", {}), {
          code: "UNAVAILABLE",
          message: /^guest\.hi is unavailable: plugin guest is failed/,
        });
        assert.deepEqual([report()?.state, report()?.reason], ["failed", "import: no longer"]);
        writeEntry(path, elsewhere);
        await client.request("plugins.reload", { id: "guest" });
        assert.deepEqual(await client.request("guest.hi", {}), { n: 1, here: false });
      });

      it("is refused at the start if a declaration works only in the gateway's own thread", async (t) => {
        const setup = `gateway.emits(defineHook()("gate", { name: "guest.open", owner: "guest", when: "-", returns: "-", throws: "-" }));`;
        const { report } = await scene(t, { setup });
        assert.match(report()?.reason ?? "", /works only in the gateway's own thread/);
        const provides = await scene(t, { ...well, id: "guest", before: Ink });
        assert.match(provides.report()?.reason ?? "", /the service ink cannot be used from another thread or process/);
      });
    });

  it("is awake with a start, a timer, a synchronous tap, or a contribution that is called synchronously", async (t) => {
    const home = directory(t);
    const setups = [
      `gateway.start(() => {});`,
      `gateway.every(1_000, () => {});`,
      `gateway.hooks.runEvent.tap(() => {});`,
      `gateway.extend(defineExtensionPoint("tool.source"), "x", {});`,
    ];
    const ids = setups.map((_, at) => `guest-${at}`);
    const paths = await Promise.all(setups.map((setup, at) => packageIn(home, { id: `guest-${at}`, setup })));
    const { asleep, report } = await start(t, paths);
    for (const id of ids) assert.deepEqual([report(id)?.state, asleep(id)], ["active", false], id);
  });

  const pen: Written = {
    id: "pen",
    before: Ink,
    head: "requires: { ink: Ink },",
    setup: `const { ink } = gateway.services; serve("write", () => ({ colour: ink.colour() }));`,
  };

  const writing = async (t: TestContext, options: Options = {}, penToo: Written = pen) => {
    const home = directory(t);
    const scene = await start(t, [await packageIn(home, penToo), await packageIn(home, well)], options);
    const writes = async () => assert.deepEqual(await scene.client.request("pen.write", {}), { colour: "blue" });
    const reload = async (id: string) => {
      assert.equal(((await scene.client.request("plugins.reload", { id })) as { ok: boolean }).ok, true);
    };
    return { ...scene, writes, reload, both: () => [scene.asleep("pen"), scene.asleep("well")] };
  };

  const reloads: [what: string, reloaded: string | undefined, both: boolean[]][] = [
    ["wakes with the providers of its required services", undefined, [true, true]],
    ["wakes with the providers of its required services when it is reloaded", "pen", [false, false]],
    ["stays asleep when a provider of its required services is reloaded", "well", [true, false]],
  ];
  for (const [what, reloaded, asleep] of reloads)
    it(what, async (t) => {
      const { both, writes, reload } = await writing(t);
      if (reloaded) await reload(reloaded);
      assert.deepEqual(both(), asleep);
      await writes();
      assert.deepEqual(both(), [false, false]);
      await reload("well");
      await writes();
    });

  it("is awake if a configured plugin uses its service", async (t) => {
    const head = `requires: { ink: Ink }, config: Type.Object({ n: Type.Integer({ default: 1 }) }),`;
    const { both, writes } = await writing(t, { config: { pen: { n: 2 } } }, { ...pen, head });
    assert.deepEqual(both(), [false, false]);
    await writes();
  });

  it("wakes the providers of its live services, even if they require it", async (t) => {
    const home = directory(t);
    const paper: Written = {
      id: "paper",
      before: `${Ink} const Sheet = defineService()("sheet", "1.0.0"); const live = (token) => ({ kind: "live", token });`,
      head: "requires: { ink: live(Ink) }, provides: [Sheet],",
      setup: `gateway.provide(Sheet, {}); const { ink } = gateway.services; serve("show", () => ({ colour: ink.get()?.colour() }));`,
    };
    const inkOnPaper: Written = {
      ...well,
      before: `${Ink} const Sheet = defineService()("sheet", "1.0.0");`,
      head: "requires: { sheet: Sheet }, provides: [Ink],",
    };
    const { client, asleep } = await start(t, [await packageIn(home, paper), await packageIn(home, inkOnPaper)]);
    assert.deepEqual([asleep("paper"), asleep("well")], [true, true]);
    assert.deepEqual(await client.request("paper.show", {}), { colour: "blue" });
  });

  for (const how of ["hard", "optional", "live"] as const)
    it(`is awake if an awake plugin uses its service: ${how}`, async (t) => {
      const token = defineService<{ colour(): string }>()("ink", "1.0.0");
      const requires = { ink: how === "hard" ? token : how === "live" ? live(token) : optional(token) };
      const user = pluginOf("user", { requires }, (gateway) => gateway.start(() => {}));
      const { asleep } = await start(t, [user, await packageIn(directory(t), well)]);
      assert.equal(asleep("well"), false);
    });

  it("stays asleep if awake plugins have a live requirement of its remotable service; the first call wakes it", async (t) => {
    const token = defineService<{ colour(): Promise<string> }>()("ink", "1.0.0", { remotable: true });
    const remote: Written = {
      id: "well",
      before: `const Ink = defineService()("ink", "1.0.0", { remotable: true });`,
      head: "provides: [Ink],",
      setup: `gateway.provide(Ink, { colour: async () => "blue", sour: () => { throw new GatewayError("INVALID_REQUEST", "sour"); } });`,
    };
    let ink: { get(): { colour(): Promise<string>; sour?(): Promise<string> } | undefined } | undefined;
    const user = pluginOf("user", { requires: { ink: live(token) } }, (gateway) => {
      ({ ink } = gateway.services);
      gateway.start(() => {});
    });
    const { asleep } = await start(t, [user, await packageIn(directory(t), remote)]);
    const written = ink?.get();
    assert.equal(asleep("well"), true);
    await assert.rejects(async () => written?.sour?.(), { code: "INVALID_REQUEST", message: "sour" });
    assert.equal(asleep("well"), false);
    assert.deepEqual([await written?.colour(), await ink?.get()?.colour()], ["blue", "blue"]);
    assert.notEqual(ink?.get(), written, "an awake plugin is called without a detour");
  });

  it("is woken by a call from a starting plugin", async (t) => {
    const path = await packageIn(directory(t), greeting);
    let answer: unknown;
    const early = pluginOf("early", (gateway) =>
      gateway.start(async () => {
        const method = {
          name: "guest.hi",
          summary: "-",
          scope: "none",
          params: Type.Unknown(),
          result: Type.Unknown(),
        } as const;
        answer = await gateway.call(method, {}).catch((error: Error) => error.message);
      }),
    );
    const { report } = await start(t, [early, path]);
    assert.equal(report("early")?.state, "active");
    assert.match(JSON.stringify(answer), /missing scope|"n":1/);
  });

  it("is `failed` if it does not wake: calls are refused, its gates are closed", async (t) => {
    const home = directory(t);
    const facts = { name: "vault.open", owner: "vault", when: "-", returns: "-", throws: "-" };
    const Gate = defineHook<object>()("gate", facts);
    let open: (() => Promise<unknown>) | undefined;
    const vault = pluginOf("vault", (gateway) => {
      const gate = gateway.emits(Gate);
      open = () => gate.emit({});
    });
    const path = await packageIn(home, {
      setup: `serve("hi", () => ({})); gateway.hook(defineHook()("gate", ${JSON.stringify(facts)})).tap(() => undefined);`,
      svc: { gates: ["vault.open"] },
    });
    writeFileSync(join(path, "plugin.mjs"), `throw new Error("no longer");`);
    const { client, report, asleep } = await start(t, [vault, path]);
    assert.equal(asleep(), true);
    await assert.rejects(client.request("guest.hi", {}), {
      code: "UNAVAILABLE",
      message: /^guest\.hi is unavailable: plugin guest is failed/,
    });
    assert.deepEqual([report()?.state, report()?.reason], ["failed", "import: no longer"]);
    assert.deepEqual(await open?.(), { allow: false, reason: "plugin guest is not running", retryAfterMs: 1_000 });
    writeEntry(path, { setup: `serve("hi", () => ({ well: true }));` });
    await client.request("plugins.reload", { id: "guest" });
    assert.deepEqual(await client.request("guest.hi", {}), { well: true });
  });

  it("is awake after a reload, with the same declarations", async (t) => {
    const { client, gateway, asleep } = await sleeping(t, greeting);
    const reloaded = (await client.request("plugins.reload", { id: "guest" })) as { ok: boolean };
    assert.deepEqual([reloaded.ok, asleep(), gateway.holdings()["methods"]], [true, false, 11]);
    assert.deepEqual(await client.request("guest.hi", {}), { n: 1 });
  });

  it("does not delay a stop while it wakes", async (t) => {
    const { gateway, client } = await sleeping(
      t,
      {
        setup: `serve("hi", () => ({})); return globalThis.blocked ? new Promise(() => {}) : undefined;`,
      },
      { drainMs: 200 },
    );
    (globalThis as { blocked?: boolean }).blocked = true;
    t.after(() => delete (globalThis as { blocked?: boolean }).blocked);
    const asked = client.request("guest.hi", {}).catch((error: Error) => error.message);
    await until(() => (seen.imported?.length ?? 0) > 0, "the import");
    await gateway.stop();
    assert.equal(typeof (await asked), "string");
  });

  it("reports when its code differs from the file, and uses the declarations of the code", async (t) => {
    const path = await packageIn(directory(t), greeting);
    writeEntry(path, { setup: `serve("hi", () => ({ new: true })); serve("more", () => ({}));` });
    const { client, gateway } = await start(t, [path], { logLevel: "warn" });
    assert.deepEqual(await client.request("guest.hi", {}), { new: true });
    assert.deepEqual(await client.request("guest.more", {}), {});
    const logs = join(gateway.paths.stateDir, "logs");
    const log = () =>
      readdirSync(logs)
        .map((name) => readFileSync(join(logs, name), "utf8"))
        .join("");
    const line = "declared.json of plugin guest is stale: the method guest.more is not in it; rebuild the plugin";
    await until(() => existsSync(logs) && log().includes(line), "the line in the log");
  });

  for (const run of ["host", "worker"] as const)
    it(`in TypeScript sleeps from its second start on, until a file of its package changes: ${run}`, async (t) => {
      const home = directory(t);
      const path = join(home, "guest");
      mkdirSync(join(path, "lib"), { recursive: true });
      writeManifest(path, { id: "guest", entry: "./plugin.ts", namespaces: ["guest"] });
      writeFileSync(
        join(path, "plugin.ts"),
        `import { defineContract, definePlugin, Type } from "@svc/sdk";
import { WORD } from "./lib/word.ts";
const contract = defineContract("guest", { say: { summary: "-", scope: "none", params: Type.Object({}), result: Type.Object({ word: Type.String() }) } });
export default definePlugin({ id: "guest", api: "^1.0.0", setup: (gateway) => gateway.serve(contract, { say: () => ({ word: WORD }) }) });
`,
      );
      const say = (word: string) => writeFileSync(join(path, "lib/word.ts"), `export const WORD: string = "${word}";`);
      say("one");
      const stateDir = join(home, "state");
      const round = async () => {
        const { gateway, client, asleep } = await start(t, [path], {
          stateDir,
          config: { plugins: { entries: { guest: { run } } } },
        });
        const was = asleep();
        const { word } = (await client.request("guest.say", {})) as { word: string };
        await client.close();
        await gateway.stop();
        return [was, word];
      };
      const rounds: unknown[] = [await round(), await round()];
      say("two");
      rounds.push(await round(), await round());
      assert.deepEqual(rounds.flat(), [false, "one", true, "one", false, "two", true, "two"]);
      assert.equal(readdirSync(join(stateDir, "cache/jiti/declared")).length, 1);
    });

  it("with a broken declared.json is imported at the start", async (t) => {
    const home = directory(t);
    const texts = ["", "{", "null", '{"format":99}', '{"format":2}'];
    const ids = texts.map((_, at) => `guest-${at}`);
    const paths = await Promise.all(ids.map((id) => packageIn(home, { ...greeting, id })));
    for (const [at, text] of texts.entries()) writeFileSync(join(home, ids[at] ?? "", "declared.json"), text);
    const { client, asleep } = await start(t, paths);
    for (const id of ids) {
      assert.equal(asleep(id), false, id);
      assert.deepEqual(await client.request(`${id}.hi`, {}), { n: 1 });
    }
  });

  it("gets its file from `svc plugins declare`, and `svc plugins check` fails when that file is stale", async (t) => {
    const home = directory(t);
    const path = await packageIn(home, greeting);
    const file = join(path, "declared.json");
    const declared = async () => {
      const found: Finding[] = [];
      await checkPlugin({ directory: path, config: {}, samples: {}, reloads: 1 }, (finding) => found.push(finding));
      return found.find(({ check }) => check === "declared")?.problems.map(({ level, why }) => `${level}: ${why}`);
    };
    rmSync(file);
    assert.deepEqual(await declared(), ["warning: declared.json is missing, so the code is imported at every start"]);
    const { stdout, code } = await svcHome(t).svc(["plugins", "declare", path]);
    assert.deepEqual(
      [code, stdout],
      [0, `${path}/package.json: up to date\n${file}: the plugin sleeps until it is used\n`],
    );
    assert.deepEqual(await declared(), []);
    writeEntry(path, { setup: `serve("hi", () => ({})); serve("more", () => ({}));` });
    assert.deepEqual(await declared(), ["failed: declared.json does not match the code"]);
    const refused = await svcHome(t).svc(["plugins", "declare", home]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /package\.json/);
  });

  it("is every plugin of the full bundle that can be one, and all of them can be woken", async (t) => {
    const { gateway, client } = await start(t, undefined as never, { plugins: undefined as never });
    const before = gateway.plugins();
    assert.ok(
      before.filter(({ asleep }) => asleep).length >= 16,
      before.map(({ id, asleep }) => `${id}:${asleep}`).join(),
    );
    const methods = [...client.hello.features.methods].sort();
    for (const { id } of before) await client.request("plugins.reload", { id });
    assert.deepEqual(
      gateway.plugins().filter(({ asleep, state }) => asleep || state !== "active"),
      [],
    );
    const { hello } = await connect({ url: gateway.url });
    assert.deepEqual([...hello.features.methods].sort(), methods);
  });
});
