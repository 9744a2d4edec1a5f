// long: waits for watched files
/** Mappings with a transform, from the request to the answer. Spec: http/webhooks.md §6.2-6.3. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, HOOKS } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { webhooks } from "@svc/sdk/webhooks";
import { actionsPlugin, TOKEN, webhookGateway, type WebhookGatewayOptions } from "./webhook-gateway.ts";

const read = async (response: Response) => (await response.json()) as { ok: boolean; error?: string; runId: string };

/** A gateway with these files in its transforms directory. */
async function withFiles(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  mappings: readonly object[],
  options: WebhookGatewayOptions = {},
) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-transforms-"));
  const directory = join(stateDir, "hooks", "transforms");
  await mkdir(directory, { recursive: true });
  const write = (name: string, text: string) => writeFile(join(directory, name), text);
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const gateway = await webhookGateway(t, { ...options, stateDir, hooks: { ...options.hooks, mappings } });
  t.after(() => rm(stateDir, { recursive: true, force: true })); // after the gateway was stopped
  return { ...gateway, write };
}

const SHAPES = `
  export default ({ payload, headers, url, path }) => {
    switch (payload.do) {
      case "skip": return null;
      case "keep": return undefined;
      case "zero": return 0;
      case "throw": throw new Error("a secret of the file");
      case "list": return [1];
      case "proto": return { kind: "__proto__" };
      case "switch": return { kind: "note", text: "now a note", wakeMode: "later" };
      case "half": return { kind: "note" };
      case "unheard": return { kind: "unheard" };
      case "types": return { message: "kept types", deliver: "no", name: 5, agentId: null, unknown: 1 };
      case "bare": return { message: payload.text, allowUnsafeExternalContent: true };
      case "key": return { message: "x", sessionKey: payload.key };
      default: return { message: "made " + payload.text };
    }
  };
`;
const MAPPING = { id: "m", match: { path: "m" }, messageTemplate: "base {{text}}", transform: { module: "shapes.js" } };

describe("a mapping with a transform", () => {
  it("uses the returned object, keeps the mapping for undefined, and skips for null", async (t) => {
    const { post, tasks, notes, ended } = await withFiles(t, { "shapes.js": SHAPES }, [MAPPING]);
    const message = async (payload: unknown) => {
      await ended((await read(await post("m", payload))).runId);
      return String(tasks.at(-1)?.params["message"]);
    };
    assert.match(await message({ text: "A" }), /made A/);
    assert.match(await message({ do: "keep", text: "B" }), /base B/);
    assert.match(await message({ do: "zero", text: "C" }), /base C/);
    assert.match(await message({ do: "types" }), /kept types/);
    const { deliver, name } = tasks.at(-1)?.params ?? {};
    assert.deepEqual([deliver, name], [undefined, undefined], "values of the wrong type are left out");
    const skipped = await post("m", { do: "skip" });
    assert.equal(skipped.status, 204);
    assert.equal(await skipped.text(), "");
    const count = tasks.length;
    assert.equal((await post("m", { do: "switch" })).status, 200);
    assert.equal(notes.at(-1)?.params["mode"], "later");
    assert.equal(tasks.length, count);
  });

  it("drops the text of one action when the transform chooses another", async (t) => {
    const both = { ...MAPPING, textTemplate: "of the note" };
    const { post } = await withFiles(t, { "shapes.js": SHAPES }, [both]);
    const response = await post("m", { do: "half" });
    assert.equal(response.status, 400);
    assert.equal((await read(response)).error, "text required");
  });

  it("logs the error of a transform once, with the place in its file and without the gateway's stack", async (t) => {
    const config = { logging: { file: "own.log", consoleLevel: "silent" } };
    const gateway = { logLevel: undefined };
    const files = { "shapes.js": SHAPES };
    const { post, stateDir } = await withFiles(t, files, [MAPPING], { config, gateway });
    for (const fault of ["throw", "list"]) assert.equal((await post("m", { do: fault })).status, 500);
    assert.equal((await post("m", { do: "proto" })).status, 501, "an action with the name of an inherited property");
    const lines = (await readFile(join(stateDir, "own.log"), "utf8"))
      .split("\n")
      .filter((line) => /"level":50/.test(line));
    const said = [/Error: a secret of the file \(shapes\.js:\d+:\d+\)/g, /returned an array/g];
    assert.equal(lines.length, said.length);
    for (const [index, words] of said.entries()) {
      assert.equal(lines[index]?.match(words)?.length, 1, lines[index]);
      assert.doesNotMatch(lines[index] ?? "", /stack/);
    }
  });

  it("applies the policies to returned values", async (t) => {
    const hooks = { allowedSessionKeyPrefixes: ["hook:"] };
    const { post, tasks, ended } = await withFiles(t, { "shapes.js": SHAPES }, [MAPPING], { hooks });
    for (const key of ["main", "agent:other:main", " main", "\u0000hook:", "ho\u043fk:x"])
      assert.equal((await post("m", { do: "key", key })).status, 400, JSON.stringify(key));
    await ended((await read(await post("m", { do: "key", key: "HOOK:a" }))).runId);
    assert.equal(tasks.at(-1)?.params["sessionKey"], "HOOK:a");
    assert.equal(tasks.at(-1)?.wrapped, true);
    await ended((await read(await post("m", { do: "bare", text: "unmarked" }))).runId);
    assert.equal(tasks.at(-1)?.params["message"], "unmarked");
  });

  it("is refused with the path that its schema does not accept", async (t) => {
    const file = `
      import { defineTransform, Type } from "@svc/sdk/transform";
      export default defineTransform({
        payload: Type.Object({ issue: Type.Object({ number: Type.Integer() }) }),
        transform: ({ payload }) => ({ message: "issue " + payload.issue.number }),
        examples: [{ payload: { issue: { number: 1 } }, expect: { message: "issue 1" } }],
      });
    `;
    const mapping = { id: "i", match: { path: "i" }, transform: { module: "issue.ts" } };
    const { post, tasks, ended } = await withFiles(t, { "issue.ts": file }, [mapping]);
    const refused = await post("i", { issue: { number: "7" } });
    assert.equal(refused.status, 400);
    assert.match((await read(refused)).error ?? "", /^payload\.issue\.number: /);
    await ended((await read(await post("i", { issue: { number: 7 } }))).runId);
    assert.match(String(tasks[0]?.params["message"]), /issue 7/);
  });

  it("costs only one 5xx when it loops or exhausts memory in a worker", async (t) => {
    const file = `
      export default ({ payload }) => {
        if (payload.do === "spin") for (;;);
        if (payload.do === "eat") { const all = []; for (;;) all.push(new Array(1_000_000).fill(1)); }
        if (payload.do === "exit") process.exit(3);
        return { message: "well" };
      };
    `;
    const transform = { module: "wild.mjs", placement: "worker", timeoutMs: 400 };
    const mapping = { id: "w", match: { path: "w" }, transform };
    const { post } = await withFiles(t, { "wild.mjs": file }, [mapping]);
    assert.equal((await post("w", {})).status, 200);
    for (const fault of ["spin", "eat", "exit"]) {
      const failing = post("w", { do: fault });
      assert.equal((await post("note", { text: "meanwhile" })).status, 200, `beside ${fault}`);
      const response = await failing;
      assert.equal(response.status, 500, fault);
      assert.deepEqual(await response.json(), { ok: false, error: "hook mapping failed" });
      assert.equal((await post("w", {})).status, 200, `after ${fault}`);
    }
  });

  it("goes live when its file is added or edited, and a broken edit changes nothing", async (t) => {
    const mapping = { id: "d", match: { path: "d" }, transform: { module: "dropped.ts" } };
    const { post, write, tasks, ended, client } = await withFiles(t, {}, [mapping]);
    assert.equal((await post("d", {})).status, 500);
    const problems = async () => (await client.call(webhooks.check, {})).problems.map(({ message }) => message).join();
    const state = async () =>
      (await client.call(webhooks.list, {})).mappings.find(({ id }) => id === "d")?.transform?.state;
    assert.match(await problems(), /dropped\.ts|no such file/);
    const says = async (word: string) => {
      for (;;) {
        const response = await post("d", {});
        if (response.status !== 200) continue;
        await ended((await read(response)).runId);
        if (String(tasks.at(-1)?.params["message"]).includes(word)) return;
      }
    };
    await write("dropped.ts", `export default (): object => ({ message: "first" });`);
    await says("first");
    await write("dropped.ts", `export default (): object => ({ message: "second" });`);
    await says("second");
    await write("dropped.ts", `export default (): object => ({ message: `);
    while ((await state()) !== "stale") await new Promise((resolve) => setTimeout(resolve, 20));
    await says("second");
    assert.match(await problems(), /dropped\.ts/);
  });
});

describe("the plugin that runs transforms", () => {
  const FILES = {
    "t.mjs": `import { setTimeout as wait } from "node:timers/promises";
      export default async ({ payload }) => {
        await wait(payload.ms ?? 0);
        return { message: "made " + payload.text };
      };`,
  };
  const mappings = ["host", "worker"].map((placement) => ({
    id: placement,
    match: { path: placement },
    messageTemplate: "base",
    transform: { module: "t.mjs", placement, timeoutMs: 20_000 },
  }));

  it("is missing: 503 that names it, and the untransformed mapping is not recorded", async (t) => {
    const recorder = { notes: [], tasks: [], plan: [], service: undefined };
    const hooks = { enabled: true, token: TOKEN, mappings };
    const alone = await testGateway(t, { plugins: ["storage-sqlite", actionsPlugin(recorder)], config: { hooks } });
    for (const path of ["host", "worker"]) {
      const response = await fetch(`http://127.0.0.1:${alone.gateway.port}/hooks/${path}`, {
        method: "POST",
        body: "{}",
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      assert.equal(response.status, 503);
      assert.ok(Number(response.headers.get("retry-after")) > 0);
      assert.match((await read(response)).error ?? "", /runs transforms.+svc plugins why webhooks/);
    }
    assert.deepEqual(recorder.tasks, []);
  });

  it("is reloaded: requests wait and are transformed, also those its stop interrupts", async (t) => {
    const { gateway, post, tasks, ended } = await withFiles(t, FILES, mappings);
    const answers: Promise<Response>[] = [];
    const send = (more: object) => {
      for (const path of ["host", "worker"]) answers.push(post(path, { text: "it", ...more }));
    };
    send({});
    await Promise.all(answers); // the file is live
    send({ ms: 3_000 }); // longer than a stop waits
    await new Promise((resolve) => setTimeout(resolve, 500));
    const sending = setInterval(() => send({}), 100);
    t.after(() => clearInterval(sending));
    const { ok, reason } = await gateway.reload("webhooks");
    clearInterval(sending);
    assert.ok(ok, reason);
    assert.ok(answers.length > 10, `${answers.length} requests`);
    for (const answer of answers) {
      const response = await answer;
      assert.equal(response.status, 200);
      await ended((await read(response)).runId);
    }
    for (const { params } of tasks) assert.match(String(params["message"]), /made it/);
    assert.equal(tasks.length, answers.length);
  });
});

it("the plugin of the action is reloaded while the transform runs: the request is served by its replacement", async (t) => {
  const file = `export default async () => { await new Promise((done) => setTimeout(done, 1_000)); return { message: "made" }; };`;
  const mapping = { id: "m", match: { path: "m" }, transform: { module: "t.mjs" } };
  const { gateway, post } = await withFiles(t, { "t.mjs": file }, [mapping]);
  assert.equal((await post("m")).status, 200);
  const waiting = post("m");
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok((await gateway.reload("test-actions")).ok);
  assert.equal((await waiting).status, 200);
});

describe("the hook webhookTransform", () => {
  it("may replace action and fields of one mapping, and the policies apply to its result", async (t) => {
    const changes: object[] = [
      { action: "note", fields: { text: "by a plugin" } },
      { action: "task", fields: { message: "m", sessionKey: "main" } },
    ];
    const plugin = definePlugin({
      id: "changer",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway
          .hook(HOOKS.webhookTransform)
          .for("m")
          .tap((input) => ({ ...input, ...changes.shift() })),
    });
    const mappings = [{ id: "m", match: { path: "m" }, messageTemplate: "x" }];
    const { post, notes } = await webhookGateway(t, {
      hooks: { mappings, allowedSessionKeyPrefixes: ["hook:"] },
      plugins: [plugin],
    });
    assert.equal((await post("m")).status, 200);
    assert.match(String(notes[0]?.params["text"]), /by a plugin/);
    const refused = await post("m");
    assert.equal(refused.status, 400);
    assert.match((await read(refused)).error ?? "", /must start with one of/);
  });

  it("and webhookBefore, which may only deny, sees the final params", async (t) => {
    const seen: unknown[] = [];
    const plugin = definePlugin({
      id: "guard",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway
          .hook(HOOKS.webhookBefore)
          .for("note")
          .tap((input) => {
            seen.push(input.params);
            assert.throws(() => Object.assign(input.params, { text: "changed" }));
            if (String(input.params["text"]).includes("bad"))
              return { allow: false, reason: "not this one", code: "INVALID_REQUEST" };
            return undefined;
          }),
    });
    const { post, notes } = await webhookGateway(t, { plugins: [plugin] });
    assert.equal((await post("note", { text: "good" })).status, 200);
    const denied = await post("note", { text: "bad" });
    assert.equal(denied.status, 400);
    assert.equal((await read(denied)).error, "not this one");
    assert.equal(notes.length, 1);
    assert.equal(seen.length, 2);
  });
});
