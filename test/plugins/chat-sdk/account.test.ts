/** Runs of accounts: adapters that are missing, wrong, slow or refused, and logins. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ChatInstance } from "chat";
import type { Logger } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { CATALOGUE, makeAdapter, missingSecrets } from "../../../plugins/chat-sdk/adapter.ts";
import { loggerOf } from "../../../plugins/chat-sdk/chat.ts";
import { DEFAULTS } from "../../../plugins/chat-sdk/config.ts";
import { withAdapter } from "../../../plugins/chat-sdk/run.ts";
import { createStates } from "../../../plugins/chat-sdk/state.ts";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { memoryStorage } from "../channels/memory-storage.ts";
import { installed, made, messageOf, openChannel, openTiny, OWN, rejects, SECRET, tiny } from "./scene.ts";

const log = { debug: () => {}, info: () => {}, warn: () => {} } as unknown as Logger; // the levels that the plugin uses

describe("an account of chat-sdk", { timeout: 60_000 }, () => {
  it("names the command for an adapter that is not installed, and is not run again", async (t) => {
    const missing = {
      gchat: /-sdk @chat-adapter\/gchat @googleapis\/chat @googleapis/,
      "no-such-adapter": /-sdk no-such-adapter$/,
    };
    for (const [adapter, command] of Object.entries(missing)) {
      const { start } = await openChannel(t, { adapter });
      await rejects(start(t).failed(), "NOT_LINKED", command);
      await rejects(start(t).failed(), "NOT_LINKED", /not installed; next: npm install --ignore-scripts --prefix \//);
    }
  });

  it("tells what is wrong with a package, its factory or its options", async (t) => {
    const settings = { adapter: "tiny-adapter", credentials: { key: SECRET } };
    const stateDir = await installed(t);
    const failed = async (more: object, message: RegExp) => {
      const { start } = await openChannel(t, { ...settings, ...more }, stateDir);
      await rejects(start(t).failed(), "NOT_LINKED", message);
    };
    await failed({}, /has no factory ""; next: set factory, e\.g\. createTiny/);
    await failed({ factory: "other" }, /has no factory "other"/);
    await failed(
      { factory: "createTiny", options: { id: "unknown" } },
      /tiny-adapter refuses its options: .*; next: change them/,
    );
    made.set("picky", () => assert.fail(`the key ${SECRET} is too short`));
    await failed({ factory: "createTiny", options: { id: "picky" } }, /the key \(hidden\) is too short/);
    await failed({ adapter: "redis" }, /the package redis, or one/); // state adapters of the catalogue are none
    await installed(t, { "package.json": "{", "code.js": "" }, stateDir);
    await failed({ factory: "createTiny" }, /the package tiny-adapter cannot be loaded/);
  });

  it("finds the code of a package as `import` does", async (t) => {
    const code = "export const createTiny = () => ({ found: true }); export const createXchatAdapter = createTiny;";
    const places: object[] = [
      { main: "lib/code.js" },
      { exports: "./lib/code.js" },
      { exports: ["./lib/code.js"] },
      { exports: { types: "./none.d.ts", node: { import: "./lib/code.js" } } },
      { exports: { ".": { require: "./none.cjs", default: "./lib/code.js" } } },
    ];
    const settings = { ...DEFAULTS, adapter: "tiny-adapter", factory: "createTiny" };
    const logger = loggerOf(log, "a", settings);
    const made = async (own: typeof settings, manifest: object, name?: string) => {
      const files = { "package.json": JSON.stringify({ type: "module", ...manifest }), "lib/code.js": code };
      return makeAdapter(own, join(await installed(t, files, directory(t), name), OWN), logger);
    };
    for (const place of places) assert.deepEqual(await made(settings, place), { found: true }, JSON.stringify(place));
    const inside = { exports: { ".": "./none.js", "./chat": "./lib/code.js" } };
    assert.deepEqual(await made({ ...settings, adapter: "xchat" }, inside, "@chat-adapter/x"), { found: true });
    const absent = /not installed; next: npm install/;
    await rejects(made(settings, { exports: { "./other": "./lib/code.js" } }), "NOT_LINKED", absent);
    await rejects(
      made({ ...settings, adapter: "xchat" }, inside),
      "NOT_LINKED",
      /@chat-adapter\/x @xdevplatform\/chat-xdk/,
    );
  });

  it("gives the factory options, secrets and secrets within options", async (t) => {
    const credentials = { key: SECRET, "account.private.key": "k", "account.id": "own" };
    const { start, options } = await openTiny(t, {}, { credentials, accounts: { other: { enabled: false } } });
    await start(t).reported("connected");
    const [{ logger, ...given }] = options as [{ logger: unknown; id: string }];
    assert.ok(logger);
    assert.deepEqual(given, { id: given.id, key: SECRET, account: { id: "own", private: { key: "k" } } });
  });

  it("reports a refused login once, and any other failure for a repetition", async (t) => {
    const fail = (fields: object) => ({
      initialize: () => Promise.reject(Object.assign(new Error(`no ${SECRET}`), fields)),
    });
    const rows: [object, string, RegExp][] = [
      [{ code: "AUTH_FAILED" }, "NOT_LINKED", /initialize .* failed: no \(hidden\); next: check credentials/],
      [{ status: 401 }, "NOT_LINKED", /check credentials/],
      [{ code: "VALIDATION_ERROR" }, "NOT_LINKED", /failed/],
      [{ code: "NETWORK_ERROR" }, "UNAVAILABLE", /failed/],
      [{}, "UNAVAILABLE", /failed/],
    ];
    for (const [error, code, message] of rows) {
      const { start, of } = await openTiny(t, fail(error));
      await rejects(start(t).failed(), code, message);
      assert.equal(of("disconnect").length, 1);
    }
  });

  it("ends within a bounded time when the adapter hangs, and ends the adapter if it starts later", async (t) => {
    const clock = createFakeClock();
    let ready: () => void = () => undefined;
    let ends = 0;
    made.set("hanging", () => ({
      initialize: () => new Promise<void>((resolve) => (ready = resolve)),
      disconnect: () => (ends++, new Promise(() => {})),
    }));
    const settings = { ...DEFAULTS, adapter: "tiny-adapter", factory: "createTiny", options: { id: "hanging" } };
    const place = join(await installed(t), OWN);
    const stateOf = createStates(memoryStorage().storage, clock);
    const unused = () => assert.fail();
    const run = { accountId: "a", settings, signal: new AbortController().signal, receive: unused, alive: unused };
    const ended = withAdapter(run, { clock, log, directory: () => place, stateOf }, unused);
    const refused = rejects(ended, "UNAVAILABLE", /did not start within 30 s/);
    await until(() => clock.pending === 1, "the start");
    await clock.advance(30_000);
    assert.equal(ends, 1);
    await clock.advance(2_500);
    await refused;
    ready();
    await until(() => ends === 2, "the end");
  });

  it("is checked by the login, which explains what is wrong", async (t) => {
    const { channel, call, made: makes } = await openTiny(t, {}, { adapter: undefined });
    const form = await channel.login?.start(call);
    assert.ok(form?.kind === "form" && form.message.includes("gchat, ") && !form.message.includes("redis"));
    const next = async (answers: Record<string, string>) =>
      channel.login?.next({ ...call, state: undefined, answers: { adapter: "tiny-adapter", ...answers } });
    const rows: [Record<string, string>, RegExp][] = [
      [{ adapter: "../tiny" }, /neither a slug nor/],
      [{ adapter: "no-such-adapter" }, /npm install/],
      [{ options: "mode: x" }, /options are not a JSON object/],
      [{ credentials: `["${SECRET}"]` }, /secrets are not a JSON object/],
      [{ credentials: '{"a": 1}' }, /secrets are not/],
    ];
    for (const [answers, message] of rows) await rejects(next(answers), "INVALID_REQUEST", message);
    makes(
      () =>
        tiny({ initialize: () => Promise.reject(Object.assign(new Error(SECRET), { code: "AUTH_FAILED" })) }).adapter,
    );
    await rejects(next({ credentials: JSON.stringify({ key: SECRET }) }), "INVALID_REQUEST", /check credentials/);
    const refused: unknown[] = [];
    const eager = async (chat: ChatInstance) => {
      const work = chat.processMessage(undefined as never, "tiny:town:1", messageOf());
      work.catch((error: unknown) => refused.push(error));
    };
    const { options } = call.settings as { readonly options: object };
    makes(() => tiny({ initialize: eager }).adapter);
    const step = await next({ credentials: JSON.stringify({ key: SECRET }), options: JSON.stringify(options) });
    assert.ok(step?.kind === "done" && step.message.includes("/plugins/chat-sdk/default"));
    assert.deepEqual(step.config, { adapter: "tiny-adapter", options, credentials: { key: SECRET } });
    await until(() => refused.length === 1, "the refusal of the message");
  });

  it("logs lines of the adapter without their values and secrets", () => {
    const lines: unknown[] = [];
    const debug = (...line: unknown[]) => void lines.push(line);
    const logger = loggerOf({ debug } as never, "a", { ...DEFAULTS, credentials: { key: SECRET } });
    logger.child("tiny").warn(`refused ${SECRET}`, { text: "words of people" });
    assert.deepEqual(lines, [[{ account: "a" }, "adapter: refused (hidden)"]]);
  });

  it("warns of secrets that the catalogue demands", () => {
    const of = (adapter: string, credentials: Record<string, string>, env = {}) =>
      missingSecrets({ ...DEFAULTS, adapter, credentials }, env);
    assert.deepEqual(of("messenger", { appSecret: "a", pageAccessToken: "b" }), ["FACEBOOK_VERIFY_TOKEN"]);
    assert.deepEqual(of("github", {}, { GITHUB_WEBHOOK_SECRET: "a" }), []);
    assert.deepEqual(of("github", { webhookSecret: "a" }), []);
    assert.deepEqual(of("tiny-adapter", {}), []);
    assert.ok(CATALOGUE.size > 20 && !CATALOGUE.has("redis"));
  });
});
