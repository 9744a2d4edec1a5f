/** `svc hooks` on the command line, against a gateway process with webhooks enabled, and its errors otherwise. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { home, type Home } from "../host/cli/svc.ts";

const TOKEN = "hook-token-of-the-test";

/** Its action `job` fails permanently until a file `open` exists next to the configuration. */
const DOOR = `import { existsSync } from "node:fs";
import { definePlugin, invalidRequest, Type } from "@svc/sdk";
import { WebhookAction } from "@svc/sdk/webhooks";
export default definePlugin({
  id: "door",
  api: "^1.0.0",
  config: Type.Object({ file: Type.String() }),
  setup: (gateway) => gateway.extend(WebhookAction, "job", {
    summary: "Goes through a door",
    fields: Type.Object({ who: Type.Optional(Type.String()) }),
    prepare: ({ who }) => (who === undefined ? invalidRequest("a job needs who") : { params: { who } }),
    async run({ params }) {
      if (!existsSync(gateway.config.file)) invalidRequest("the door is shut");
      return { summary: params.who + " went through" };
    },
  }),
});
`;

const MAPPING = {
  id: "build",
  match: { path: "build", headers: { "x-event": "build" } },
  action: "job",
  who: "{{who}}",
};

interface Scene extends Home {
  readonly directory: string;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Writes a file next to the configuration. */
  file(name: string, text: string): Promise<string>;
}

/** @param hooks keys in addition to `enabled` and `token` @param off webhooks are not enabled */
async function scene(t: TestContext, hooks: Record<string, unknown> = {}, off = false): Promise<Scene> {
  const at = home(t);
  const directory = dirname(at.configPath);
  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text);
    return join(directory, name);
  };
  await file("door.ts", DOOR);
  const section = off ? hooks : { enabled: true, token: TOKEN, ...hooks };
  const config = {
    plugins: { load: { paths: ["./door.ts"] } },
    door: { file: join(directory, "open") },
    hooks: section,
  };
  await file("svc.json", JSON.stringify(config, null, 2));
  const { port } = await at.run();
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/hooks/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${TOKEN}`, "x-event": "build", ...headers },
    });
  return { ...at, directory, post, file };
}

/** The output of a command that must exit with `code`. */
async function out({ svc }: Home, args: readonly string[], code = 0): Promise<string> {
  const { code: ended, stdout, stderr } = await svc(["hooks", ...args]);
  assert.equal(ended, code, `svc hooks ${args.join(" ")}: ${stdout}${stderr}`);
  return code === 0 ? stdout : stdout + stderr;
}

async function json(at: Home, args: readonly string[], code = 0): Promise<Record<string, unknown>> {
  return JSON.parse(await out(at, [...args, "--json"], code)) as Record<string, unknown>;
}

/** The output of `svc hooks runs <id>` once the run has ended. */
async function endedRun(at: Home, runId: string): Promise<string> {
  for (;;) {
    const text = await out(at, ["runs", runId]);
    if (/^status +(done|failed)$/m.test(text)) return text;
  }
}

async function runIdOf(response: Response): Promise<string> {
  assert.equal(response.status, 200);
  return ((await response.json()) as { runId: string }).runId;
}

describe("svc hooks, with a gateway", () => {
  it("lists and explains mappings, tries one, lists runs, and replays a failed one", async (t) => {
    const at = await scene(t, { mappings: [MAPPING] });
    const rows = (await out(at, ["list"])).split("\n");
    assert.match(rows[0] ?? "", /^# +ID +PATH +ACTION +VERIFY +TRANSFORM +STATE$/);
    assert.ok(
      rows.some((row) => /^\d build +\/hooks\/build +job +bearer +- +on$/.test(row.replace(/ +/g, " "))),
      rows.join("\n"),
    );
    const info = await out(at, ["info", "build"]);
    assert.match(info, /^plugin +door$/m);
    assert.match(info, /^match +\{"path":"build","headers":\{"x-event":"build"\}\}$/m);

    const payload = await at.file("payload.json", '{"who":"Ada"}');
    const tried = await out(at, ["try", "build", "--payload", payload, "--header", "X-Event: build"]);
    assert.match(tried, /matched by build[\s\S]*who +Ada[\s\S]*response to the sender: 200/);
    const refused = await out(at, ["try", "build", "--payload", payload], 1);
    assert.match(refused, /header x-event is missing[\s\S]*no mapping matched[\s\S]*response to the sender: 404/);
    const incomplete = await at.file("incomplete.json", "{}");
    const trial = await json(at, ["try", "build", "--payload", incomplete, "--header", "X-Event: build"], 1);
    assert.deepEqual(trial["response"], { status: 400, body: { ok: false, error: "a job needs who" } });
    assert.match(await out(at, ["runs"]), /no webhooks accepted yet/, "trying has no effect");

    const runId = await runIdOf(await at.post("build", { who: "Ada" }));
    const failed = await endedRun(at, runId);
    assert.match(failed, /^status +failed$/m);
    assert.match(failed, /^reason +the door is shut$/m);
    assert.ok(failed.includes(`Next: svc hooks replay ${runId}`), failed);
    assert.ok((await out(at, ["runs", "--status", "failed", "--mapping", "build"])).includes(runId));
    assert.match(await out(at, ["runs", "--status", "done"]), /no matching webhooks/);

    await at.file("open", "");
    const replayed = await out(at, ["replay", runId]);
    const [, again = ""] = /^Next: svc hooks runs (\S+)$/m.exec(replayed) ?? [];
    const done = await endedRun(at, again);
    assert.match(done, /^status +done$/m);
    assert.match(done, /^summary +Ada went through$/m);
    assert.match(done, new RegExp(`^replayOf +${runId}$`, "m"));
    assert.match(await out(at, ["replay", runId], 1), new RegExp(`was already replayed as ${again}`));
    assert.match(
      await out(at, ["replay", again], 1),
      /is done; only failed runs can be replayed\nNext: svc hooks runs/,
    );
  });

  it("disables and enables mappings and direct paths, in the file and immediately", async (t) => {
    const at = await scene(t, { mappings: [MAPPING] });
    await at.file("open", "");
    const status = async (path: string, body: unknown) => (await at.post(path, body)).status;
    const written = async () => {
      const { hooks } = JSON.parse(await readFile(at.configPath, "utf8")) as { hooks: Record<string, unknown> };
      return { mappings: hooks["mappings"], disabled: hooks["disabled"] };
    };
    for (const [id, path, body, off] of [
      ["build", "build", { who: "Ada" }, { mappings: [{ ...MAPPING, enabled: false }], disabled: undefined }],
      ["wake", "wake", { text: "hi" }, { mappings: [{ ...MAPPING, enabled: true }], disabled: ["wake"] }],
    ] as const) {
      assert.equal(await status(path, body), 200, id);
      assert.equal(await out(at, ["disable", id]), `disabled ${id}\n`);
      assert.deepEqual(await written(), off);
      assert.equal(await status(path, body), 404, id);
      assert.match(await out(at, ["disable", id]), /already disabled; nothing was written/);
      assert.equal(await out(at, ["enable", id]), `enabled ${id}\n`);
      assert.equal(await status(path, body), 200, id);
    }
    assert.equal((await written()).disabled, undefined);
  });

  it("checks mappings, and creates the directory for transforms", async (t) => {
    const transform = { module: "build.ts" };
    const at = await scene(t, { mappings: [{ ...MAPPING, transform }] });
    assert.match(await out(at, ["check"], 1), /^error: build\.ts: .*\n1 error, 0 warnings$/m);
    assert.equal((await json(at, ["check"], 1))["ok"], false);

    const transforms = join(at.directory, "hooks/transforms");
    const config = join(transforms, "tsconfig.json");
    assert.equal(await out(at, ["init"]), `wrote ${config}\nput transforms into ${transforms}\n`);
    assert.match(await out(at, ["init"]), /^all files exist already$/m);

    await at.file("hooks/transforms/build.ts", "export default ({ payload }) => ({ who: payload.who.toUpperCase() });");
    assert.equal(await out(at, ["check"]), "no problems\n");
    const payload = await at.file("payload.json", '{"who":"Ada"}');
    const tried = await out(at, ["try", "build", "--payload", payload, "--header", "X-Event: build"]);
    assert.match(tried, /transformed\n {2}who +ADA/);

    await at.file("hooks/transforms/build.ts", "export default () => {\n  throw new Error('no luck');\n};");
    assert.equal(await out(at, ["check"]), "no problems\n");
    const failed = await out(at, ["try", "build", "--payload", payload, "--header", "X-Event: build"], 1);
    assert.match(failed, /^matched by build$[^]*no luck \(build\.ts:2\)[^]*response to the sender: 500/m);
    await at.file("hooks/transforms/build.ts", "export default ({ payload }) => ({ who: payload.who.toUpperCase() });");
    assert.equal(await out(at, ["check"]), "no problems\n");

    await at.file("hooks/transforms/build.ts", "export default (");
    assert.match(await out(at, ["check"], 1), /^error: build\.ts: .*1:\d+/m);
    const info = await out(at, ["info", "build"]);
    assert.match(info, /^transform state +stale$/m);
    assert.match(await out(at, ["try", "build", "--payload", payload, "--header", "X-Event: build"]), /who +ADA/);
  });
});

describe("svc hooks, on an error", () => {
  it("reports the cause and the next step", async (t) => {
    const at = await scene(t, { mappings: [MAPPING] });
    const good = await at.file("good.json", "{}");
    assert.match(await out(at, ["try", "build"], 2), /hooks try needs a request body\nNext: /);
    const rows: readonly (readonly [args: readonly string[], says: RegExp])[] = [
      [["try", "bild", "--payload", good], /no mapping "bild"; existing ones: build, .*\nNext: svc hooks list/],
      [["enable", "bild"], /no mapping "bild"; configured: .*build.*\nNext: svc hooks list/],
      [["runs", "no-such-run"], /no webhook with the run id "no-such-run"\nNext: svc hooks runs/],
      [["replay", "no-such-run"], /no webhook run no-such-run; see: svc hooks runs/],
    ];
    for (const [args, says] of rows) assert.match(await out(at, args, 1), says, args.join(" "));
  });

  it("names hooks.enabled while webhooks are disabled", async (t) => {
    const at = await scene(t, { mappings: [MAPPING] }, true);
    assert.match(await out(at, ["list"]), /^webhooks are off: set hooks\.enabled and hooks\.token$/m);
    assert.match(await out(at, ["check"]), /^webhooks are off: /m);
    assert.equal((await at.post("build", { who: "Ada" })).status, 404);
  });
});
