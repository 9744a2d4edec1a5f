// long: runs plugins in threads and processes
/** A plugin has the same abilities in its own thread or process as in the gateway, with the same file. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { defineContract, defineService, Type } from "@svc/sdk";
import { type ModelEvent, ModelProvider } from "@svc/sdk/models";
import { Tool } from "@svc/sdk/tools";
import { testGateway } from "@svc/sdk/testing";
import { isolationScene, packageAt, until, type Written } from "./scene.ts";
import { directory } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";

const Any = Type.Unknown();

for (const run of ["worker", "process"] as const)
  describe(`in a ${run}`, { concurrency: 2 }, () => {
    it("serves methods: params, results, refusals, principal, connection, accepted results", async (t) => {
      const { ask, client, connect } = await isolationScene(
        t,
        {
          setup: `
            serve("echo", ({ params }) => params);
            serve("who", ({ principal, connection }) => ({ id: principal.id, scopes: principal.scopes, client: connection.client.id }));
            serve("refuse", () => { throw new GatewayError("CONFLICT", "somebody else", { details: { n: 1 }, retryAfterMs: 7 }); });
            serve("bug", () => { throw new TypeError("secret text"); });
            serve("twice", async ({ accept }) => { accept({ status: "accepted", first: 1 }); return { second: 2 }; });
            serve("strict", ({ params }) => params, { params: Type.Object({ n: Type.Integer() }, { additionalProperties: false }) });
          `,
        },
        { run },
      );
      const odd = { "~": "function", ref: 1, deep: [{ "~": { "~": "yours", ref: 2 } }], __proto__x: 1, none: null };
      assert.deepEqual(await ask("echo", odd), odd);
      const who = (await ask("who")) as { id: string; scopes: string[]; client: string };
      assert.equal(who.id, "token");
      assert.ok(who.scopes.includes("operator.admin"));
      await assert.rejects(ask("refuse"), {
        code: "CONFLICT",
        message: "somebody else",
        details: { n: 1 },
        retryAfterMs: 7,
      });
      await assert.rejects(ask("bug"), /internal error \(/);
      await assert.rejects(ask("strict", { n: "x" }), /at \/n: must be integer/);
      assert.deepEqual(await ask("strict", { n: 1 }), { n: 1 });
      const accepted: unknown[] = [];
      const options = { expectFinal: true, onAccepted: (payload: unknown) => accepted.push(payload) };
      assert.deepEqual(await client.request("guest.twice", {}, options), { second: 2 });
      assert.deepEqual(accepted, [{ status: "accepted", first: 1 }]);
      const reader = await connect({ scopes: [] });
      await assert.rejects(reader.request("guest.echo", {}), /missing scope/);
    });

    it("emits events, mounts routes, streams, keeps timers and files", async (t) => {
      const { client, gateway, stateDir } = await isolationScene(
        t,
        {
          manifest: { routes: ["/guest"] },
          before: `import { writeFileSync } from "node:fs"; import { join } from "node:path";`,
          setup: `
            const rang = gateway.event(defineEvent({ name: "guest.rang", summary: "-", payload: Any }));
            serve("ring", ({ params }) => { rang(params); return {}; });
            gateway.every(20, () => rang({ every: true }));
            gateway.start(() => { writeFileSync(join(gateway.stateDir, "here"), "x"); });
            gateway.route({ method: "POST", path: "/guest/:name", auth: "plugin", summary: "-", body: Type.Object({ n: Type.Integer() }),
              handler: ({ params, query, body, headers, rawBody }) => ({ status: 201, headers: { "x-name": params.name }, body: { q: query.get("q"), n: body.n, type: headers["content-type"], bytes: rawBody.length } }) });
            gateway.route({ method: "GET", path: "/guest/stream", auth: "plugin", summary: "-",
              handler: () => ({ headers: { "content-type": "text/plain" }, body: (async function* () { yield "a"; yield new Uint8Array([98]); yield "c"; })() }) });
          `,
        },
        { run },
      );
      const events: unknown[] = [];
      client.onEvent(({ event, payload }) => event === "guest.rang" && events.push(payload));
      await client.request("guest.ring", { loud: true });
      await until(() => events.length > 2, "events");
      assert.ok(events.some((payload) => (payload as { loud?: boolean }).loud));
      assert.ok(events.some((payload) => (payload as { every?: boolean }).every));
      const http = `http://127.0.0.1:${gateway.port}/guest`;
      const posted = await fetch(`${http}/Ada?q=1`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"n":3}',
      });
      assert.deepEqual(
        [posted.status, posted.headers.get("x-name"), await posted.json()],
        [201, "Ada", { q: "1", n: 3, type: "application/json", bytes: 7 }],
      );
      assert.equal((await fetch(`${http}/Ada`, { method: "POST", body: "{}" })).status, 400);
      assert.equal(await (await fetch(`${http}/stream`)).text(), "abc");
      assert.ok(existsSync(`${stateDir}/plugins/guest/here`));
    });

    it("taps hooks of every kind except the synchronous one; a gate is closed while it is not running", async (t) => {
      const { ask, gateway } = await isolationScene(
        t,
        {
          manifest: { gates: ["rpcBefore:guest.shut"] },
          setup: `
            serve("echo", ({ params }) => params);
            serve("shut", () => ({}));
            serve("seen", () => seen);
            const seen: any[] = [];
            gateway.hooks.rpcParams.for("guest.echo").tap(({ params, principal }) => ({ params: { ...params, by: principal.id }, principal }));
            gateway.hooks.rpcBefore.for("guest.shut").tap(async ({ method }) => ({ allow: false, reason: "no " + method, code: "CONFLICT" }));
            gateway.hooks.rpcAfter.tap(({ method, ok }) => void seen.push([method, ok]));
            gateway.hooks.httpRequest.tap(({ path }) => path === "/closed" ? { status: 418, body: { tea: true } } : undefined);
          `,
        },
        { run },
      );
      assert.deepEqual(await ask("echo", { a: 1 }), { a: 1, by: "token" });
      await assert.rejects(ask("shut"), { code: "CONFLICT", message: "no guest.shut" });
      assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/closed`)).status, 418);
      const seen = (await ask("seen")) as [string, boolean][];
      assert.ok(seen.some(([method, ok]) => method === "guest.shut" && !ok));
    });

    it("requires and provides services whose methods all return promises, and calls methods as the original caller", async (t) => {
      const Bell = defineService<{ ring(times: number): Promise<string> }>()("bell", "1.0.0", { remotable: true });
      const Horn = defineService<{ blow(): Promise<string>; name: string }>()("horn", "1.0.0", { remotable: true });
      const heard: string[] = [];
      const contract = defineContract("user", {
        blow: { summary: "-", scope: "operator.read", params: Any, result: Any },
        admin: { summary: "-", scope: "operator.admin", params: Any, result: Any },
      });
      const user = pluginOf("user", { requires: { horn: Horn } }, (gateway) => {
        gateway.serve(contract, {
          blow: async () => ({ text: await gateway.services.horn.blow(), name: gateway.services.horn.name }),
          admin: ({ principal }) => ({ id: principal.id, provenance: principal.provenance }),
        });
      });
      const bell = pluginOf("bell", { provides: [Bell] }, (gateway) =>
        gateway.provide(Bell, {
          ring: async (times) => {
            heard.push(`ring ${times}`);
            return "dong".repeat(times);
          },
        }),
      );
      const { client, connect, ask } = await isolationScene(
        t,
        {
          before: `const Bell = defineService()("bell", "1.0.0", { remotable: true }); const Horn = defineService()("horn", "1.0.0", { remotable: true });
            const Gone = defineService()("gone", "1.0.0", { remotable: true });
            const admin = { name: "user.admin" };`,
          head: `requires: { bell: Bell, gone: optional(Gone), later: live(Gone) }, provides: [Horn],`,
          setup: `
            const { bell, gone, later } = gateway.services;
            gateway.provide(Horn, { name: "horn", blow: async () => "toot " + (await bell.ring(2)) });
            serve("gone", () => ({ gone: gone === undefined, later: later.get() === undefined }));
            serve("as", ({ principal }) => gateway.call(admin, {}, { principal }));
            serve("self", () => gateway.call(admin, {}));
            serve("forged", ({ principal }) => gateway.call(admin, {}, { principal: { ...principal } }));
          `,
        },
        { run, plugins: [bell, user] },
      );
      assert.deepEqual(await client.request("user.blow", {}), { text: "toot dongdong", name: "horn" });
      assert.deepEqual(heard, ["ring 2"]);
      assert.deepEqual(await ask("gone"), { gone: true, later: true });
      assert.deepEqual(await ask("as"), { id: "token", provenance: "token" });
      await assert.rejects(ask("self"), /missing scope: operator\.admin/);
      await assert.rejects(ask("forged"), /missing scope: operator\.admin/);
      const reader = await connect({ scopes: ["operator.read"] });
      await assert.rejects(reader.request("guest.as", {}), /missing scope: operator\.admin/);
    });

    it("contributes a tool and a model provider, with streams and signals", async (t) => {
      let tool: Tool | undefined;
      let provider: ModelProvider | undefined;
      const owner = pluginOf("owner", (gateway) => {
        const tools = gateway.own(Tool);
        const providers = gateway.own(ModelProvider);
        gateway.start(() => {
          tool = tools.get("count")?.value;
          provider = providers.get("guest-api")?.value;
        });
      });
      const { ask } = await isolationScene(
        t,
        {
          setup: `
            let aborted = 0; let ended = 0;
            serve("ends", () => ({ aborted, ended }));
            gateway.extend(Tool, "count", defineTool({ description: "-", params: Type.Object({ n: Type.Integer() }), scope: "operator.read",
              run: async ({ n }, { signal, principal }) => { await new Promise((resolve) => { signal.addEventListener("abort", resolve); if (n < 5) setTimeout(resolve, 1); }); if (signal.aborted) aborted++; return "counted " + n + " " + principal.id; } }));
            gateway.extend(ModelProvider, "guest-api", { builtin: [], async *stream(request, account, signal) {
              try { for (let n = 0; n < 1000; n++) { if (signal.aborted) { aborted++; return; } yield { type: "text", delta: String(n) }; if (account.name === "short" && n === 2) break; await new Promise((r) => setImmediate(r)); }
              yield { type: "finish", reason: "stop" }; } finally { ended++; } } });
          `,
        },
        { run, plugins: [owner] },
      );
      await until(() => tool !== undefined && provider !== undefined, "the contributions");
      const principal = { id: "x", role: "operator", scopes: [], provenance: "none", epoch: 1 } as const;
      const quiet = new AbortController();
      const context = { call: {} as never, principal, signal: quiet.signal };
      assert.equal(await tool?.run({ n: 1 }, context), "counted 1 x");
      const stopping = new AbortController();
      const running = tool?.run({ n: 9 }, { ...context, signal: stopping.signal });
      stopping.abort();
      assert.equal(await running, "counted 9 x");

      const collect = async (name: string, signal: AbortSignal) => {
        const events: ModelEvent[] = [];
        for await (const event of provider?.stream({} as never, { name }, signal) ?? []) {
          events.push(event);
          if (name === "cut" && events.length === 3) stop.abort();
          if (name === "left" && events.length === 3) break;
        }
        return events;
      };
      const stop = new AbortController();
      assert.deepEqual(
        (await collect("short", quiet.signal)).map((event) => event.type),
        ["text", "text", "text", "finish"],
      );
      assert.ok((await collect("cut", stop.signal)).length < 1_000);
      assert.equal((await collect("left", quiet.signal)).length, 3);
      const ends = async () => (await ask("ends")) as { aborted: number; ended: number };
      let ended = await ends();
      while (ended.ended < 3) ended = await ends();
      assert.deepEqual(ended, { aborted: 2, ended: 3 });
    });

    it("has its configuration with defaults; an invalid one prevents the start like that of a plugin in the gateway", async (t) => {
      const head = `config: Type.Object({ loud: Type.Boolean({ default: true, reload: "hot" }), times: Type.Integer({ default: 3, minimum: 1 }) }),`;
      const written = { head, setup: `serve("config", () => gateway.config);` };
      const { ask, report } = await isolationScene(t, written, { run, config: { guest: { loud: false } } });
      assert.deepEqual(await ask("config"), { loud: false, times: 3 });
      assert.equal(report()?.state, "active");
      await assert.rejects(
        isolationScene(t, written, { run, config: { guest: { times: 0, more: 1 } } }),
        /guest: unexpected property 'more'\n +guest\.times: must be >= 1/,
      );
    });

    it("is reloaded: the new code serves, the old guest has stopped", async (t) => {
      const { ask, client, rewrite, report } = await isolationScene(
        t,
        { setup: `serve("say", () => "one"); gateway.start(() => () => console.error("stopped one"));` },
        { run },
      );
      assert.equal(await ask("say"), "one");
      await rewrite({ setup: `serve("say", () => "two"); serve("more", () => "more");` });
      const reloaded = (await client.request("plugins.reload", { id: "guest" })) as { ok: boolean; generation: number };
      assert.deepEqual([reloaded.ok, reloaded.generation], [true, 2]);
      assert.deepEqual([await ask("say"), await ask("more")], ["two", "more"]);
      await rewrite({ setup: `throw new Error("no third");` });
      const failed = (await client.request("plugins.reload", { id: "guest" })) as { ok: boolean; reason: string };
      assert.deepEqual([failed.ok, failed.reason], [false, "setup: no third"]);
      assert.deepEqual([await ask("say"), report()?.generation], ["two", 2]);
    });

    it("is refused with the reason if it does what works only in the gateway's own thread, or declares after setup", async (t) => {
      const hook = `{ name: "h", owner: "guest", when: "-", returns: "-", throws: "-" }`;
      const rows: [written: Written, reason: RegExp][] = [
        [
          { setup: `gateway.own(sdk.defineExtensionPoint("x"));` },
          /the extension point x works only in the gateway's own thread.*run host/,
        ],
        [
          { setup: `gateway.emits(defineHook()("observe", ${hook}));` },
          /the hook h works only in the gateway's own thread/,
        ],
        [
          {
            setup: `gateway.route({ method: "GET", path: "/plugins/guest-2/s", auth: "plugin", summary: "s", handler: () => ({}), upgrade: () => ({}) });`,
          },
          /the route GET \/plugins\/guest-2\/s works only in the gateway's own thread.*sockets cannot be handed over/,
        ],
        [
          { setup: `gateway.hooks.runEvent.tap(() => {});` },
          /the tap of runEvent works only in the gateway's own thread/,
        ],
        [
          { head: `requires: { m: Models },`, setup: "" },
          /the service models cannot be used from another thread or process.*run host/,
        ],
        [
          { setup: `gateway.start(() => serve("late", () => 1));` },
          /start: plugin guest-5: declaring the method guest-5\.late is only allowed inside setup\(\)/,
        ],
      ];
      const home = directory(t);
      const ids = rows.map((_, at) => `guest-${at}`);
      const plugins = await Promise.all(
        rows.map(([one], at) => packageAt(join(home, `${at}`), { ...one, id: ids[at] })),
      );
      const entries = Object.fromEntries(ids.map((id) => [id, { run }]));
      const { gateway } = await testGateway(t, { plugins, config: { plugins: { entries } } });
      for (const [at, [, reason]] of rows.entries())
        assert.match(gateway.plugins().find(({ id }) => id === ids[at])?.reason ?? "", reason);
    });
  });
